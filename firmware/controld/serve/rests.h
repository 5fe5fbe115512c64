/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that take long cost the others their time, and a client may have many connections. So a user or a
 * certificate whose turn took RESTS_SLOW_MS or more gets no other turn on any connection for RESTS_FACTOR
 * times as long: the others have most of the time of kiln-controld. Only for roles below admin; the caller
 * checks that. Does not allocate, and never reads the clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RESTS_MAX     32u /* callers told apart at a time */
#define RESTS_SLOW_MS 100u
#define RESTS_FACTOR  4u
#define RESTS_MOST_MS 10000u

struct rests {
	struct rest {
		uint64_t caller, until_ms; /* until_ms: 0 = the place is free */
	} of[RESTS_MAX];
};

/* Notes that a turn of `caller` took `took_ms`. Where RESTS_MAX callers rest already, the one whose rest ends
 * first goes on at once. */
void rests_charge(struct rests *rests, uint64_t caller, uint64_t took_ms, uint64_t now_ms);
bool rests_is_resting(const struct rests *rests, uint64_t caller, uint64_t now_ms);
