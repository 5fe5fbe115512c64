/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/cache/shard_claims.h"

/* relaxed, here and below: the number bounds the claims, and guards nothing. */
static void give_back(struct shard_claims *claims)
{
	(void)atomic_fetch_sub_explicit(&claims->held, 1, memory_order_relaxed);
}

enum claim claims_take(struct shard_claims *claims, const char name[static CACHE_NAME_BYTES],
		       uint64_t *ret_claim)
{
	int r = -ENOLCK;

	if (atomic_fetch_add_explicit(&claims->held, 1, memory_order_relaxed) < CLAIMS_MAX)
		r = cache_claim(claims->folder, name, ret_claim);
	if (r == 1)
		return CLAIM_MINE;
	give_back(claims);
	return r == 0 ? CLAIM_ANOTHERS : CLAIM_NONE;
}

void claims_end(struct shard_claims *claims, uint64_t *claim)
{
	if (*claim == CACHE_CLAIM_NONE)
		return;
	cache_unclaim(claims->folder, *claim);
	*claim = CACHE_CLAIM_NONE;
	give_back(claims);
}
