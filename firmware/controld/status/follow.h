/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one subscriber, as lines: the entries in the journal that Kiln's units wrote with a
 * MESSAGE_ID of Kiln (core/base/events.h).
 *
 * Why the journal is the queue: otherwise a subscriber that reads slowly would need memory without bound. Its
 * session pops lines while its backlog has space; the follower remembers the journal's cursor of the last
 * line and goes on from there. A client passes the same cursor as `since` after a lost connection. The
 * journal itself is bounded and drops old files: if the cursor is gone, the subscriber gets one line
 * events.lost, then the oldest entry after the cursor.
 *
 * Order: follow_open -> (follow_process when follow_fd is readable, follow_begin, follow_next until false)*
 * -> follow_closep. Blocks only on reading the journal's files.
 */
#pragma once

#include "drivers/journal/journal.h"

struct follow;

/* Begins after the entry with the cursor `since`; NULL: begins with the next entry that is written.
 * Errors: -EINVAL `since` is no cursor; others: the journal cannot be read. */
MUST_CHECK int follow_open(const char *since, const struct journal_filter *filter, struct follow **ret_follow,
			   struct error *err);
void follow_closep(struct follow **follow);

/* Returns the descriptor to watch for EPOLLIN, or a negative errno if the journal cannot be watched. When the
 * descriptor is readable, call follow_process(). */
int follow_fd(const struct follow *follow);
void follow_process(struct follow *follow);

/* Begins a round of follow_next(). A round may end early, when the client's queue is full: then the next
 * round checks first that the journal still holds the last event. */
void follow_begin(struct follow *follow);
/* Returns the next event: *ret_line is its line, malloc'ed, which the caller frees; NULL: no memory. False:
 * there is no further event yet. */
bool follow_next(struct follow *follow, char **ret_line);
