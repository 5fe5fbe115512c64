/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the first windows of a trial into the disk cache: those that its kiln-fetchd loads at its start, and
 * no more bytes than fetch.memory_bytes. An object that the cache has is not asked for.
 *
 * The cache keeps to its bounds: for an object only files are evicted that the trial reads later than it, or
 * not at all. Each object is claimed before it is asked for (cache/shard_claims.h), until the copy ends: a
 * kiln-fetchd that needs it meanwhile waits for the file.
 *
 * One thread, for which it blocks; no lock is held. Memory: the buffers of COPY_RANGES_MAX ranges, at most
 * the backlog of the cache's writer, which is empty then.
 */
#pragma once

#include "fetchd/prefetch/trial.h"

#define COPY_RANGES_MAX 8u /* requests at once: as many as a store begins with */

struct prefetch_copied {
	atomic_uint_fast64_t objects, bytes; /* objects and bytes that came over the network */
};

/* Copies until wanted(context) is false. awake(NULL) is called at least once a second while an object
 * arrives. Returns 1 where all is in the cache that it holds; 0 where it is no longer wanted. Errors: those
 * of the cache and of the store, -errno. An object that has changed, or is gone, is left out. */
MUST_CHECK int prefetch_copy(const struct prefetch_trial *trial, bool (*wanted)(void *context), void *context,
			     void (*awake)(void *context), struct prefetch_copied *copied, struct error *err);
