/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/rests.h"

/* Returns the place of the caller, else the one whose rest ends first. */
static struct rest *place_of(struct rests *rests, uint64_t caller)
{
	struct rest *first = &rests->of[0];

	for (struct rest *at = rests->of; at < rests->of + RESTS_MAX; at++) {
		if (at->until_ms && at->caller == caller)
			return at;
		if (at->until_ms < first->until_ms)
			first = at;
	}
	return first;
}

void rests_charge(struct rests *rests, uint64_t caller, uint64_t took_ms, uint64_t now_ms)
{
	const uint64_t rest_ms =
		took_ms < RESTS_MOST_MS / RESTS_FACTOR ? took_ms * RESTS_FACTOR : RESTS_MOST_MS;

	if (took_ms >= RESTS_SLOW_MS)
		*place_of(rests, caller) = (struct rest){ caller, now_ms + rest_ms };
}

bool rests_is_resting(const struct rests *rests, uint64_t caller, uint64_t now_ms)
{
	for (const struct rest *at = rests->of; at < rests->of + RESTS_MAX; at++)
		if (at->caller == caller && now_ms < at->until_ms)
			return true;
	return false;
}
