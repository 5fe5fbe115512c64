/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources, each with a store and a network thread. A shard is fetched in parts: byte ranges of one object,
 * each moved by one request, many of them in flight.
 *
 * How large is a part: a part is one HTTP request, and large parts cost less CPU time per byte. But every
 * connection that the store uses should have CONNECTION_PARTS parts of a window to move, or some connections
 * are idle while the window's last parts arrive. So parts are smaller for small windows and for stores with
 * many connections, but at least PART_LEAST_BYTES. The store itself decides how many requests are in flight
 * and fetches a slow part twice (hedging, drivers/store/s3_hedge.c): a window is complete only when its
 * slowest part is there.
 *
 * Failures: the first error of a part is the shard's error. After a malformed reply (-EBADMSG) or a changed
 * object (-ESTALE) the shard's other parts are awaited, and the decoder judges the shard; it may fetch the
 * shard once more. Any other error means that the store is gone: all shards of the window are given up.
 *
 * Threads: each source has one, which owns its store and all shards in flight. A crash loses what is in
 * flight; the next process fetches it again.
 */
#pragma once

#include "fetchd/shard/shard.h"
#include "fetchd/shared/fetch.h"

struct source {
	struct fetch *fetch;
	struct store *store;   /* belongs to the network thread; others only wake it and read its URL */
	struct queue to_fetch; /* guarded by fetch->lock */
	/* Figures of the store, copied by the network thread. */
	atomic_uint_fast64_t bytes_in, retries, at_once, hedged, hedges_won;
	const char *_Atomic pace; /* why the store allows at_once requests at once; NULL = no reason known */
};

struct sources {
	struct source source[PLAN_SOURCES_MAX];
	uint32_t count;
	uint32_t connections_max;        /* connections of one source */
	bool index_arrivals;             /* the result of arrival_pays() */
	atomic_uint_fast64_t part_bytes; /* size of a part of the newest shard */
};

/* Returns the upper bound of the parts of any shard. */
uint64_t network_parts_max(const struct fetch *fetch);

/* Returns the number of requests of one source for which memory is reserved at the start: one per shard of
 * the `windows` windows that a source may ever have, and more where shards are cut into parts. */
uint32_t network_requests(const struct fetch *fetch, uint64_t windows);

/* Queues a shard for its source; the lock is held. */
void network_fetch(struct shard *shard);

void *network_thread(void *source);
