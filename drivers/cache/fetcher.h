/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies objects of one store into the cache, in the order in which fetcher_add() got them. Several ranges
 * are fetched at a time, but written in order. One thread. Order: fetcher_open -> fetcher_add* ->
 * fetcher_finish -> fetcher_closep, which gives up what is still being fetched.
 */
#pragma once

#include "core/config/config.h"
#include "drivers/cache/cache.h"
#include "drivers/store/store.h"

struct fetcher;

/* Allocates a buffer for each range, of which there are at most `ranges_max`, and never more than
 * connections; a range has config_fetch_part_bytes() bytes, at most FETCHER_RANGE_BYTES_MAX. */
#define FETCHER_RANGE_BYTES_MAX (UINT64_C(16) << 20)
MUST_CHECK int fetcher_open(const struct config *config, const struct config_store *where,
			    const struct cache *cache, uint32_t ranges_max, struct fetcher **ret_fetcher,
			    struct error *err);
void fetcher_closep(struct fetcher **fetcher);
/* Sets a function that is called at least every FETCHER_POLL_MS while fetcher_add() or fetcher_finish()
 * blocks, as store_options.awake. */
#define FETCHER_POLL_MS 1000
void fetcher_set_awake(struct fetcher *fetcher, void (*awake)(void *context), void *context);

/* Called once for each object: `r` is 0 where the object is complete, else a negative errno, with `err`.
 * Where the callback returns another value than 0, fetcher_add() or fetcher_finish() ends and returns it. */
typedef int fetched_fn(void *context, const struct cache_object *object, int r, const struct error *err);
/* Adds one object to fetch. Blocks while all range buffers are in use. Calls `each` for objects that become
 * complete meanwhile. */
MUST_CHECK int fetcher_add(struct fetcher *fetcher, const char *key, const struct store_pin *pin,
			   fetched_fn *each, void *context, struct error *err);
/* Blocks until every added object is complete or has failed. */
MUST_CHECK int fetcher_finish(struct fetcher *fetcher, fetched_fn *each, void *context, struct error *err);
