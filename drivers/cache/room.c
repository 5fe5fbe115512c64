/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cache/room.h"
#include "core/base/paths.h"
#include "drivers/cache/cache.h"

#include <sys/statvfs.h>

static int add_bytes(void *context, const struct cache_item *item)
{
	*(uint64_t *)context += item->bytes;
	return 0;
}

static uint64_t cached_bytes(void)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	char path[PATH_BYTES];
	uint64_t bytes = 0;

	if (cache_open(path_of(PATH_CACHE, NULL, path), CACHE_READ, &cache, NULL) < 0 ||
	    cache_each(cache, add_bytes, &bytes, NULL) < 0)
		return 0;
	return bytes;
}

uint64_t cache_room(void)
{
	char path[PATH_BYTES];
	struct statvfs fs;

	if (statvfs(path_of(PATH_CACHE, NULL, path), &fs) < 0 &&
	    statvfs(path_of(PATH_RUNS, NULL, path), &fs) < 0)
		return 0;
	return ((uint64_t)fs.f_bavail * fs.f_frsize + cached_bytes()) / 2;
}
