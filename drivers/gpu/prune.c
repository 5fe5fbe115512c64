/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/cleanup.h"
#include "drivers/gpu/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Result of a walk over the binaries of the cache. */
struct binaries {
	uint64_t bytes;
	uint32_t count;
	struct timespec oldest;
	char name[NAME_MAX + 1]; /* the oldest */
};

static bool is_binary(const char *name)
{
	const size_t length = strlen(name), end = strlen(GPU_BINARY_END);

	return length > end && !strcmp(name + length - end, GPU_BINARY_END);
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void walk(DIR *folder, struct binaries *found)
{
	const struct dirent *entry;
	struct stat st;

	*found = (struct binaries){ 0 };
	rewinddir(folder);
	while ((entry = readdir(folder))) { // NOLINT(concurrency-mt-unsafe): each its own stream
		if (!is_binary(entry->d_name) ||
		    fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		found->bytes += (uint64_t)st.st_size;
		if (found->count++ == 0 || is_before(&st.st_mtim, &found->oldest)) {
			found->oldest = st.st_mtim;
			memcpy(found->name, entry->d_name, strlen(entry->d_name) + 1);
		}
	}
}

void gpu_prune(const char *path, uint64_t most_bytes)
{
	DIR *folder = opendir(path);
	struct binaries found;

	if (!folder)
		return;
	walk(folder, &found);
	while (found.bytes > most_bytes && found.count > 1 && unlinkat(dirfd(folder), found.name, 0) == 0)
		walk(folder, &found);
	(void)closedir(folder);
}
