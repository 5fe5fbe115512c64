/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot that has nothing to do for the unfinished series waits until a trial of another slot begins or ends,
 * or the series itself has another state, or a person gives it up. The record says so; the slots tell each
 * other nothing else. One thread.
 */
#pragma once

#include "core/series/series.h"

/* What the trials of a series do: of two equal ones nothing has begun or ended in between. */
struct wait_state {
	char id[RUN_ID_BYTES]; /* "": no series is unfinished */
	uint64_t trials;
};

/* Reads the unfinished series. Call it before the slot looks for work, so that no change is missed. */
struct wait_state wait_state_now(void);
/* Blocks until the series of `before` has another state than that. Returns at once where it had none. */
void wait_for_change(const struct wait_state *before);
