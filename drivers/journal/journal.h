/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kiln's entries in the systemd journal, sd-journal(3): which are ours, and who said so himself. Reading
 * takes the group systemd-journal.
 *
 * Order: journal_open -> journal_match -> sd_journal_seek_* and sd_journal_next, journal_field ->
 * journal_closep. One thread.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/events.h"

struct sd_journal;

/* Which entries. */
struct journal_filter {
	const char *unit;              /* NULL = all of ours */
	bool events;                   /* entries with a MESSAGE_ID of ours alone */
	const struct event_row *event; /* one of them alone; NULL = all */
	uint64_t priority;             /* this and graver ones */
};

/* The box's journal, or below KILN_ROOT the one that lies there: all of it. */
MUST_CHECK int journal_open(struct sd_journal **ret_journal, struct error *err);
void journal_closep(struct sd_journal **journal);
/* From now on entries of our units alone, of these only what the filter lets through. */
MUST_CHECK int journal_match(struct sd_journal *journal, const struct journal_filter *filter,
			     struct error *err);
/* A field's value in the entry that the journal stands at, at most 4 KiB of it; NULL: there is none. The
 * caller frees. */
char *journal_field(struct sd_journal *journal, const char *name);
