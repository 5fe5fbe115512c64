/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/cache/shard_object.h"

#include "fetchd/shard/sources.h"

struct cache_object object_of_key(const struct fetch *fetch, uint32_t source, const char *key,
				  const struct store_pin *pin, struct cache_strings *strings)
{
	return cache_object_of(&fetch->run.config.source[source].store, key, pin, strings);
}

struct cache_object object_of_shard(const struct shard *shard, struct cache_strings *strings)
{
	return object_of_key(shard->source->fetch, shard->plan.source, shard->plan.key, &shard->pin, strings);
}

bool object_is_cacheable(const struct shard *shard)
{
	const struct fetch *fetch = shard->source->fetch;

	return fetch->cache && cache_accepts_store(&fetch->run.config.source[shard->plan.source].store) &&
	       cache_accepts_pin(&shard->pin);
}
