/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-oneshot preload: what the next run of kiln.conf reads, and what is pinned in its sources, from the
 * store into the cache. preload.c decides what and makes room, preload_fetch.c brings it.
 */
#pragma once

#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"
#include "oneshot/oneshot.h"

struct fetcher;

/* One store's objects, several ranges of them at once, whole into the cache in the order they were
 * asked for; one thread. */
MUST_CHECK int fetcher_open(const struct config *config, const struct config_store *where,
			    const struct cache *cache, struct fetcher **ret_fetcher, struct error *err);
/* Gives up what is on its way; accepts one of NULL. */
void fetcher_closep(struct fetcher **fetcher);

/* Ask for one; waits while there is no room for a range, and calls `each` for those that are over meanwhile:
 * `r` 0 or what went wrong with it. What `each` returns besides 0 is returned. */
typedef int fetched_fn(void *context, const struct cache_object *object, int r, const struct error *err);
MUST_CHECK int fetcher_add(struct fetcher *fetcher, const char *key, const struct store_pin *pin,
			   fetched_fn *each, void *context, struct error *err);
/* Until all are over. */
MUST_CHECK int fetcher_finish(struct fetcher *fetcher, fetched_fn *each, void *context, struct error *err);
