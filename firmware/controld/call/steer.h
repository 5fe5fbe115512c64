/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends commands, called words, to kiln-steer, the only process that may start and stop units of systemd.
 * Each word has a connection of its own: one line with the word, one line back, "ok" or "error " and the
 * reason. controld itself has no right to start or stop a unit, so a fault in controld can do no more than
 * the words in kiln-steer's fixed list. After rank.start and rank.stop follow a space and the name of a job.
 *
 * No function here blocks: the answer ends the call later. At most 8 words wait for an answer at a time. A
 * word without an answer within CONTROL_ACT_S ends its call with CONTROL_TIMEOUT.
 */
#pragma once

#include "controld/call/call.h"

/* Gets the outcome of a word before call_end(). May undo what a failed word left behind, and may turn a
 * failure into a success or a success into a failure. Returns the outcome for call_end(). */
typedef int steer_done_fn(struct call *call, int r, struct error *err);

/* Sends one word to kiln-steer. `done` may be NULL.
 * Returns CALL_LATER: the word owns the call now.
 * Errors: -EBUSY with CONTROL_LIMIT, too many words wait for an answer; other errors with
 * CONTROL_UNAVAILABLE. */
MUST_CHECK int steer_say(struct call *call, const char *word, steer_done_fn *done, struct error *err);

/* Looks for a word that was sent for an equal request (caller, key, method, parameters) whose client left.
 * Returns CALL_LATER: this call gets the answer to that word; 0: there is no such word.
 * Errors: -EALREADY the first client still waits. */
MUST_CHECK int steer_join(struct call *call, struct error *err);

/* Ends the words that kiln-steer has not answered in time. */
void steer_sweep(struct calls *calls, uint64_t now_ms);
/* Drops all words without answering their calls, because the program ends. */
void steer_done(struct calls *calls);
