/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/cache/shard_cache.h"

#include "core/base/log.h"
#include "core/base/paths.h"

#include <inttypes.h>

static bool any_cached_source(const struct config *config)
{
	for (uint32_t i = 0; i < config->sources; i++)
		if (cache_accepts_store(&config->source[i].store))
			return true;
	return false;
}

void shard_cache_begin(struct fetch *fetch)
{
	const struct config *config = &fetch->run.config;
	struct shard_cache *cache;
	char folder[PATH_BYTES];
	struct error err;

	if (config->fetch.cache_bytes == 0 || !any_cached_source(config))
		return;
	cache = calloc(1, sizeof(*cache));
	if (!cache || cache_open(path_of(PATH_CACHE, NULL, folder), CACHE_WRITE, &cache->folder, &err) < 0) {
		log_warning("going on without a cache: %s", cache ? err.text : "no memory");
		free(cache);
		return;
	}
	cache->claims.folder = cache->folder;
	writer_begin(&cache->writer, fetch, cache->folder, &cache->claims);
	reader_begin(&cache->reader, fetch, cache->folder, &cache->writer);
	fetch->budget.free_disk = writer_free_disk;
	fetch->budget.context = &cache->writer;
	fetch->cache = cache;
	log_info("cache: %" PRIu64 " bytes in %s", config->fetch.cache_bytes, folder);
}

int shard_cache_start(struct fetch *fetch, struct error *err)
{
	pthread_t thread;

	if (!fetch->cache)
		return 0;
	if (pthread_create(&thread, NULL, reader_thread, &fetch->cache->reader) != 0 ||
	    pthread_create(&thread, NULL, writer_thread, &fetch->cache->writer) != 0)
		return error_set(err, -EAGAIN, "cannot start the cache's threads");
	return 0;
}

void shard_cache_end(struct fetch *fetch)
{
	if (fetch->cache)
		writer_finish(&fetch->cache->writer);
}

void shard_cache_count(const struct fetch *fetch, struct status_fetchd *status)
{
	const struct shard_cache *cache = fetch->cache;

	if (!cache)
		return;
	status->cached = 1;
	status->cache_hits = atomic_load(&cache->reader.hits);
	status->cache_misses = atomic_load(&cache->reader.misses);
	status->cache_bytes = atomic_load(&cache->reader.bytes);
	status->cache_written = atomic_load(&cache->writer.written);
}
