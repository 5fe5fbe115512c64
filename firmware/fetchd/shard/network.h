/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network thread of a source (sources.h). It fetches a shard in parts: byte ranges of one object, each
 * moved by one request, many of them in flight. All parts of a shard are in flight in one thread.
 *
 * How large is a part: a part is one HTTP request, and large parts cost less CPU time per byte. But every
 * connection that the source uses should have CONNECTION_PARTS parts of a window to move, or some connections
 * are idle while the window's last parts arrive. So parts are smaller for small windows and for sources with
 * many connections, but at least PART_LEAST_BYTES. The store itself decides how many requests are in flight
 * and fetches a slow part twice (hedging, drivers/store/s3_hedge.c): a window is complete only when its
 * slowest part is there.
 *
 * Failures: the first error of a part is the shard's error. After a malformed reply (-EBADMSG) or a changed
 * object (-ESTALE) the shard's other parts are awaited, and the decoder judges the shard; it may fetch the
 * shard once more. Any other error means that the store is gone: all shards of the window are given up, in
 * all threads of the source.
 *
 * Threads: each owns its store and its shards in flight. A crash loses what is in flight; the next process
 * fetches it again.
 */
#pragma once

#include "fetchd/shard/sources.h"

/* Returns the upper bound of the parts of any shard. */
uint64_t network_parts_max(const struct fetch *fetch);

/* Returns the number of requests of one source for which memory is reserved at the start: one per shard of
 * the `windows` windows that a source may ever have, and more where shards are cut into parts. The threads of
 * a source share it. */
uint32_t network_requests(const struct fetch *fetch, uint64_t windows);

/* What the thread of `network`, a struct network, does. */
void *network_thread(void *network);
