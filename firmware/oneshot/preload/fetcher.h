/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the objects of one store whole into the cache, in the order of fetcher_add(): several ranges at a
 * time, written in order. One thread. Order: fetcher_open -> fetcher_add* -> fetcher_finish ->
 * fetcher_closep, which gives up what is still being fetched.
 */
#pragma once

#include "core/config/config.h"
#include "drivers/cache/cache.h"
#include "drivers/store/store.h"

struct fetcher;

MUST_CHECK int fetcher_open(const struct config *config, const struct config_store *where,
			    const struct cache *cache, struct fetcher **ret_fetcher, struct error *err);
void fetcher_closep(struct fetcher **fetcher);

/* Called once for each object that is complete (`r` 0) or could not be fetched (`r` and `err`). Any value but
 * 0 ends fetcher_add() or fetcher_finish(), which return it. */
typedef int fetched_fn(void *context, const struct cache_object *object, int r, const struct error *err);
/* Adds one object. Blocks while all range buffers are in use, and calls `each` for the objects that become
 * complete meanwhile. */
MUST_CHECK int fetcher_add(struct fetcher *fetcher, const char *key, const struct store_pin *pin,
			   fetched_fn *each, void *context, struct error *err);
/* Blocks until every added object is complete or has failed. */
MUST_CHECK int fetcher_finish(struct fetcher *fetcher, fetched_fn *each, void *context, struct error *err);
