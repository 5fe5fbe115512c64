/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources, each with a store and a network thread. A shard is fetched in parts: byte ranges of one object,
 * each moved by one request, many of them in flight.
 *
 * Why parts, and how large: a part is one HTTP request. Large parts cost less CPU time per byte. But every
 * connection that the store bears should have CONNECTION_PARTS parts of a window to move, or some connections
 * are idle while the window's last parts arrive; so parts shrink, to PART_LEAST_BYTES at least, for small
 * windows and fast stores. The store itself decides how many requests are in flight and fetches a slow part
 * twice (hedging, drivers/store/s3_hedge.c): a window is complete only when its slowest part is there.
 *
 * Failures: the first error of a part is the shard's. An answer that makes no sense (-EBADMSG) or another
 * object (-ESTALE) waits for the shard's other parts and is then judged by the decoder, which may fetch the
 * shard once more. Any other error means that the store is gone: all shards of the window are given up.
 */
#pragma once

#include "fetchd/fetch.h"
#include "fetchd/shard/shard.h"

struct source {
	struct fetch *fetch;
	struct store *store;   /* belongs to the network thread; others only wake it and read its URL */
	struct queue to_fetch; /* guarded by fetch->lock */
	/* Counted and chosen by the store, copied by the network thread. */
	atomic_uint_fast64_t bytes_in, retries, at_once, hedged, hedges_won;
	const char *_Atomic pace; /* why the store has at_once requests in flight; NULL = no reason known */
};

struct sources {
	struct source source[PLAN_SOURCES_MAX];
	uint32_t count;
	uint32_t connections_max;        /* of one source */
	bool index_arrivals;             /* of arrival_pays() */
	atomic_uint_fast64_t part_bytes; /* of the newest shard */
};

/* Upper bound of the parts of any shard. */
uint64_t network_parts_max(const struct fetch *fetch);

/* Requests of one source for which memory is reserved at the start: one per shard of the `windows` windows
 * that a source may ever have, and more where shards are cut into parts. */
uint32_t network_requests(const struct fetch *fetch, uint64_t windows);

/* Queue a shard for its source; the lock is held. */
void network_fetch(struct shard *shard);

void *network_thread(void *source);
