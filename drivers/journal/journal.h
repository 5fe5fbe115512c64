/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kiln's entries in the systemd journal, and the kernel's, sd-journal(3). Any program may claim Kiln's
 * identifier, so an entry counts only where fields that journald itself adds (user, group, unit) show that
 * Kiln sent it. Reading needs the group systemd-journal.
 *
 * Order: journal_open -> journal_match -> sd_journal_seek_* and sd_journal_next, journal_field ->
 * journal_closep. Threads: the one that opened it, as sd-journal(3) demands.
 * Owns: the caller owns the journal until journal_closep(). Crash: nothing is stored; the journal is only
 * read.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/events.h"

#include <stdbool.h>

struct sd_journal;

/* Makes standard error a stream of the journal again, in a program of a service whose parent has put a pipe
 * in its place. Returns false, and changes nothing, where there is no journal. Call it before threads start.
 */
bool journal_take_stderr(const char *program);

/* Which entries journal_match() selects. */
struct journal_filter {
	const char *unit;              /* kiln-<unit>.service; NULL = all units of Kiln */
	bool events;                   /* true: only Kiln's events (core/base/events.h) */
	const struct event_row *event; /* where `events` is true: only this event; NULL = all events */
	uint64_t priority;             /* only entries of this priority or a more severe one */
};

/* Opens the box's journal or, where KILN_ROOT is set (in tests), the one below that folder. */
MUST_CHECK int journal_open(struct sd_journal **ret_journal, struct error *err);
void journal_closep(struct sd_journal **journal);
/* Restricts the journal to the entries of Kiln's units that pass the filter. */
MUST_CHECK int journal_match(struct sd_journal *journal, const struct journal_filter *filter,
			     struct error *err);
/* Restricts the journal to the messages of the Linux kernel. */
MUST_CHECK int journal_match_kernel(struct sd_journal *journal, struct error *err);
/* Returns the value of a field of the current entry, at most 4 KiB of it; NULL: the entry lacks the field.
 * The caller frees the text. */
char *journal_field(struct sd_journal *journal, const char *name);
