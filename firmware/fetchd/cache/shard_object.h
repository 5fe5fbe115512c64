/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the plan as the disk cache (drivers/cache) names them. Any thread; nothing blocks.
 */
#pragma once

#include "fetchd/shard/shard.h"
#include "fetchd/shared/fetch.h"

/* Whether the process has a cache and the cache may hold this shard: it is looked up there first, and written
 * there later. */
bool object_is_cacheable(const struct shard *shard);

/* Return a key of a source, or a shard, as an object; `strings` owns the memory that the object points to. */
struct cache_object object_of_key(const struct fetch *fetch, uint32_t source, const char *key,
				  const struct store_pin *pin, struct cache_strings *strings);
struct cache_object object_of_shard(const struct shard *shard, struct cache_strings *strings);
