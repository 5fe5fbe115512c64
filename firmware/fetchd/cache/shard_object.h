/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the plan as the disk cache (drivers/cache) names them. Any thread; nothing blocks.
 */
#pragma once

#include "fetchd/fetch.h"
#include "fetchd/shard/shard.h"

/* Whether the process has a cache and it may hold this shard: look it up there first, write it there later.
 */
bool object_is_cacheable(const struct shard *shard);

/* A key of a source as an object; `strings` owns what the object points to. */
struct cache_object object_of_key(const struct fetch *fetch, uint32_t source, const char *key,
				  const struct store_pin *pin, struct cache_strings *strings);
struct cache_object object_of_shard(const struct shard *shard, struct cache_strings *strings);
