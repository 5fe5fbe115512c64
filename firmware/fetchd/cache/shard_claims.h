/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the fetchds that share the disk cache fetches an object from its source: trials side by side read
 * the same objects at the same time, and the store is to send each once.
 *
 * A shard that the cache lacks is claimed before it is fetched. The claim goes on to the job that writes the
 * shard into the cache, and ends when the file is there, or when it is clear that none comes. A shard whose
 * object another process has claimed waits in the reader, and looks again every CLAIM_LOOK_MS: then the cache
 * has it, or this process claims it. It waits CLAIM_WAIT_S at most, and is then fetched without a claim: the
 * other process may be stopped, or slower than the store.
 *
 * A shard that has a claim never waits for another one, so processes do not block each other. The claims of a
 * process that dies end with it. No more than CLAIMS_MAX at once, as many as the writer has jobs: objects
 * beyond that are fetched without a claim.
 */
#pragma once

#include "fetchd/shard/shard.h"

#include <stdatomic.h>

#define CLAIMS_MAX    1024u
#define CLAIM_LOOK_MS 20u
#define CLAIM_WAIT_S  60u

struct shard_claims {
	struct cache *folder;
	atomic_uint held;
};

enum claim { CLAIM_NONE, CLAIM_MINE, CLAIM_ANOTHERS };

/* Claims an object. CLAIM_NONE: this process may fetch it without a claim. Any thread. */
enum claim claims_take(struct shard_claims *claims, const char name[static CACHE_NAME_BYTES],
		       uint64_t *ret_claim);
/* Ends a claim, and sets it to CACHE_CLAIM_NONE, which it may be already. Any thread. */
void claims_end(struct shard_claims *claims, uint64_t *claim);
