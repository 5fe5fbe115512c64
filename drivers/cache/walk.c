/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over the cache's folder to list its files. Also removes single files, and the unfinished files of
 * killed writers. */
#include "drivers/cache/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* levels of folders: each costs an open descriptor; links in deeper folders are not removed */
#define SWEEP_DEPTH_MAX 64u

union label {
	struct cache_label label;
	char label_buffer[CACHE_LABEL_MAX];
};

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static DIR *open_dir(int at, const char *path)
{
	CLEANUP(close_fd) int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)take_fd(&fd);
	return dir;
}

static const struct dirent *next_entry(DIR *dir)
{
	const struct dirent *entry;

	do {
		entry = readdir(dir); // NOLINT(concurrency-mt-unsafe): each its own stream
	} while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

/* ---- Each ---- */

static bool is_name(const char *text)
{
	return strlen(text) == CACHE_NAME_BYTES - 1 &&
	       strspn(text, "0123456789abcdef") == CACHE_NAME_BYTES - 1;
}

/* Reads the item of a file from its label. Returns 1; 0 where the file has no valid label; -errno where the
 * label cannot be read now, so that the file may be good. */
static int item_of(const struct cache *cache, const char *name, union label *label,
		   struct cache_item *ret_item)
{
	char path[CACHE_PATH_BYTES];
	CLEANUP(close_fd)
	int fd = openat(cache->fd, cache_path(name, path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -errno : cache_label_read(fd, &label->label);
	struct stat st;

	if (bytes < 0)
		return bytes == -ENODATA || bytes == -ERANGE || bytes == -ELOOP ? 0 : (int)bytes;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!cache_label_parse(&label->label, (size_t)bytes, ret_item) ||
	    (uint64_t)st.st_size != ret_item->bytes)
		return 0;
	ret_item->name = name;
	ret_item->used_s = st.st_mtim.tv_sec;
	return 1;
}

/* Reads the item of a file. Returns false where that fails; removes a file without a valid label where the
 * cache is open for writing. */
static bool read_item(const struct cache *cache, const char *name, union label *label,
		      struct cache_item *ret_item)
{
	char path[CACHE_PATH_BYTES];
	int r = item_of(cache, name, label, ret_item);

	if (r == 0 && cache->use == CACHE_WRITE)
		(void)unlinkat(cache->fd, cache_path(name, path), 0);
	return r == 1;
}

int cache_each(const struct cache *cache, int (*each)(void *context, const struct cache_item *item),
	       void *context, struct error *err)
{
	CLEANUP(close_dir) DIR *top = open_dir(cache->fd, "objects");
	const struct dirent *sub, *file;
	int r = 0;

	if (!top)
		return errno == ENOENT
			       ? 0
			       : error_set(err, -errno, "%s/objects: %s", cache->folder, strerror(errno));
	while (r == 0 && (sub = next_entry(top))) {
		CLEANUP(close_dir) DIR *dir = open_dir(dirfd(top), sub->d_name);

		while (dir && r == 0 && (file = next_entry(dir))) {
			struct cache_item item;
			union label label;

			if (is_name(file->d_name) && strncmp(file->d_name, sub->d_name, 2) == 0 &&
			    read_item(cache, file->d_name, &label, &item))
				r = each(context, &item);
		}
	}
	return r;
}

/* ---- Removing ---- */

int cache_remove(const struct cache *cache, const char name[static CACHE_NAME_BYTES], struct error *err)
{
	char path[CACHE_PATH_BYTES];
	struct cache_item item;
	union label label;
	bool labelled = read_item(cache, name, &label, &item);

	if (unlinkat(cache->fd, cache_path(name, path), 0) < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s/%s: cannot remove it: %s", cache->folder, path,
				 strerror(errno));
	if (labelled)
		cache_unlink(cache, &item);
	return 0;
}

/* ---- Sweeping ---- */

static void sweep_new(const struct cache *cache)
{
	CLEANUP(close_dir) DIR *dir = open_dir(cache->fd, "new");
	const struct dirent *entry;

	while (dir && (entry = next_entry(dir))) {
		CLEANUP(close_fd)
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
}

/* Removes links that lead nowhere, then empty folders. unlinkat() does not remove a folder that has entries.
 */
static void sweep_tree(int at, const char *name, unsigned depth)
{
	CLEANUP(close_dir) DIR *dir = open_dir(at, name);
	const struct dirent *entry;
	struct stat st;

	while (dir && (entry = next_entry(dir))) {
		if (entry->d_type == DT_DIR && depth > 0)
			sweep_tree(dirfd(dir), entry->d_name, depth - 1);
		if (entry->d_type == DT_DIR)
			(void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
		else if (fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 && errno == ENOENT)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
}

void cache_sweep(const struct cache *cache)
{
	sweep_new(cache);
	sweep_tree(cache->fd, "tree", SWEEP_DEPTH_MAX);
}
