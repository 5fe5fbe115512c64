/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one subscriber: the journal's entries of our units that carry a MESSAGE_ID of ours
 * (core/base/events.h), as lines.
 *
 * Why the journal is the queue: a subscriber that reads slowly would else need memory without bound. Its
 * session pops lines as far as its queue has space; the follower remembers the journal's cursor of the last
 * one and goes on from there. The same cursor is what a client passes as `since` after a lost connection. The
 * journal itself is bounded and drops old files: where the cursor is gone, the subscriber gets one line
 * events.lost and goes on with the oldest entry after it.
 *
 * Order: follow_open -> (follow_process when follow_fd is readable, follow_begin, follow_next until false)*
 * -> follow_closep. Never blocks but for the journal's files.
 */
#pragma once

#include "drivers/journal/journal.h"

struct follow;

/* From the entry after the cursor `since`; NULL: from the next entry that is written.
 * Errors: -EINVAL `since` is no cursor; others: the journal cannot be read. */
MUST_CHECK int follow_open(const char *since, const struct journal_filter *filter, struct follow **ret_follow,
			   struct error *err);
void follow_closep(struct follow **follow);

/* To wait on for EPOLLIN; negative: the journal cannot be watched. Then follow_process(). */
int follow_fd(const struct follow *follow);
void follow_process(struct follow *follow);

/* Begins a round of follow_next(). A round may end early, when the client's queue is full: then the next
 * round checks first that the journal still holds the last event. */
void follow_begin(struct follow *follow);
/* False: no event is left, the next one is yet to be written. True: *ret_line is the next line, malloc'ed,
 * the caller's; NULL without memory. */
bool follow_next(struct follow *follow, char **ret_line);
