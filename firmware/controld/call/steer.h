/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words to kiln-steer, the only process that may act on systemd. One connection a word: a line with the word,
 * a line back, "ok" or "error " and the reason. controld itself holds no right to start or stop a unit, so a
 * fault in it cannot do more than these words (kiln-steer's own list).
 *
 * Nothing here blocks: the answer ends the call later. At most 8 words are on their way at a time; a word
 * without an answer within CONTROL_ACT_S ends its call with CONTROL_TIMEOUT.
 */
#pragma once

#include "controld/call/call.h"

/* Looks at the outcome before call_end(), undoes what a failure left, and may turn one into the other. */
typedef int steer_done_fn(struct call *call, int r, struct error *err);

/* Says one word. `done` may be NULL.
 * Returns CALL_LATER: the call is the word's now.
 * Errors: -EBUSY and CONTROL_LIMIT too many words; others with CONTROL_UNAVAILABLE. */
MUST_CHECK int steer_say(struct call *call, const char *word, steer_done_fn *done, struct error *err);

/* Looks for a word that was said for the same request (caller, key, method, parameters) of a client that
 * left. Returns CALL_LATER: this call gets the word's answer; 0: there is none. Errors: -EALREADY the other
 * client still waits. */
MUST_CHECK int steer_join(struct call *call, struct error *err);

/* Ends words whose time is over. */
void steer_sweep(struct calls *calls, uint64_t now_ms);
/* Forgets every word without an answer: the program ends. */
void steer_done(struct calls *calls);
