/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judgement on a shard that has arrived: inflated and indexed, fetched once more, or failed.
 *
 * Bad bytes are fetched once more, past the cache, before they count: they may have been damaged on the disk
 * or on the way. Then fetch.bad_record decides whether the bad records are left out. An answer of the store
 * that made no sense is no record's fault: it ends the run, whatever the policy.
 */
#pragma once

#include "fetchd/fetch.h"
#include "fetchd/shard/shard.h"

enum verdict {
	VERDICT_GOOD,  /* indexed */
	VERDICT_SKIP,  /* indexed; what is bad is left out, by policy */
	VERDICT_AGAIN, /* fetch it once more */
	VERDICT_FAILED /* shard->err */
};

/* A worker calls, without the lock. Blocks: on the network and on the disk, when an object changed. */
enum verdict decode_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard);
