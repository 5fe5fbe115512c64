/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a shard that has arrived into plain bytes and an index of records, or decides that it is fetched once
 * more or has failed.
 *
 * Bad bytes are fetched once more, past the cache, before they count as bad: they may have been damaged on
 * the disk or on the way. Then fetch.bad_record decides whether the bad records are left out. A reply of the
 * store that makes no sense is not a bad record: it ends the run under every policy.
 *
 * Threads: any worker; the worker owns the shard meanwhile. Nothing here is shared or survives a crash.
 */
#pragma once

#include "fetchd/shard/shard.h"
#include "fetchd/shared/fetch.h"

enum verdict {
	VERDICT_GOOD,  /* indexed */
	VERDICT_SKIP,  /* indexed; what is bad is left out, by policy */
	VERDICT_AGAIN, /* to be fetched once more */
	VERDICT_FAILED /* shard->err says why */
};

/* A worker calls, without the lock. Blocks: on the network and on the disk, when an object changed. */
enum verdict decode_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard);
