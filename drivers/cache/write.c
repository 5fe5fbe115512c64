/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "drivers/cache/internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define FILE_TRIES 10u /* a sweep takes a file once at most, and each process sweeps once */

void cache_abandon(struct cache_writer *w)
{
	if (!w->cache)
		return;
	if (*w->temporary)
		(void)unlinkat(w->cache->fd, w->temporary, 0);
	close_fd(&w->fd);
	w->cache = NULL;
}

/* Makes the file below new/ and locks it: a locked file tells cache_sweep() that the writer is alive. Returns
 * -EAGAIN where the sweep of another process takes the file before it is locked. */
static int try_file(struct cache_writer *w, char path[static sizeof(w->temporary)])
{
	static atomic_uint count;
	struct stat st;

	(void)snprintf(path, sizeof(w->temporary), "new/%d-%u", (int)getpid(), atomic_fetch_add(&count, 1));
	w->fd = openat(w->cache->fd, path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0664);
	if (w->fd < 0 || flock(w->fd, LOCK_EX | LOCK_NB) < 0 || fstat(w->fd, &st) < 0)
		return -errno;
	return st.st_nlink > 0 ? 0 : -EAGAIN;
}

static int make_file(struct cache_writer *w, struct error *err)
{
	char path[sizeof(w->temporary)];
	int r = -EAGAIN;

	for (unsigned tries = 0; r == -EAGAIN && tries < FILE_TRIES; tries++) {
		close_fd(&w->fd);
		r = try_file(w, path);
	}
	if (r < 0)
		return error_set(err, r, "%s/%s: cannot make it: %s", w->cache->folder, path, strerror(-r));
	memcpy(w->temporary, path, sizeof(path));
	return 0;
}

int cache_create(const struct cache *cache, const struct cache_object *object, struct cache_writer *w,
		 struct error *err)
{
	size_t bytes;
	int r;

	*w = (struct cache_writer){ .cache = cache, .fd = -1, .expected = object->pin->bytes };
	w->label.magic = CACHE_LABEL_MAGIC;
	w->label.bytes = object->pin->bytes;
	bytes = cache_identity(object, w->label.identity, sizeof(w->label_buffer) - sizeof(w->label));
	w->label_bytes = sizeof(w->label) + bytes;
	r = bytes > 0 ? make_file(w, err)
		      : error_set(err, -ENAMETOOLONG, "%s: its names are too long for a label", object->key);
	if (r < 0)
		cache_abandon(w);
	return r;
}

/* Makes the kernel start to write the bytes to the disk now, so that the fsync() in cache_commit() has little
 * left to do. */
int cache_append(struct cache_writer *w, const void *data, uint64_t bytes, struct error *err)
{
	int r = file_write_all(w->fd, data, bytes);

	if (r < 0)
		return error_set(err, r, "%s/%s: cannot write %" PRIu64 " bytes: %s", w->cache->folder,
				 w->temporary, bytes, strerror(-r));
	(void)sync_file_range(w->fd, (off_t)w->bytes, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
	w->label.crc32 = libdeflate_crc32(w->label.crc32, data, bytes);
	w->bytes += bytes;
	return 0;
}

static int publish(struct cache_writer *w, const struct cache_item *item, struct error *err)
{
	char path[CACHE_PATH_BYTES], folder[CACHE_PATH_BYTES];

	(void)cache_path(item->name, path);
	(void)snprintf(folder, sizeof(folder), "objects/%.2s", item->name);
	if (mkdirat(w->cache->fd, folder, 0775) < 0 && errno != EEXIST)
		return error_set(err, -errno, "%s/%s: cannot make the folder: %s", w->cache->folder, folder,
				 strerror(errno));
	if (fsetxattr(w->fd, CACHE_XATTR, &w->label, w->label_bytes, 0) < 0 || fsync(w->fd) < 0 ||
	    renameat(w->cache->fd, w->temporary, w->cache->fd, path) < 0)
		return error_set(err, -errno, "%s/%s: cannot write it: %s", w->cache->folder, path,
				 strerror(errno));
	*w->temporary = '\0';
	cache_link(w->cache, item);
	return 0;
}

static int check_length(const struct cache_writer *w, struct error *err)
{
	if (w->bytes == w->expected)
		return 0;
	return error_set(err, -EBADMSG, "%s/%s: %" PRIu64 " bytes were written of %" PRIu64, w->cache->folder,
			 w->temporary, w->bytes, w->expected);
}

int cache_commit(struct cache_writer *w, struct error *err)
{
	char name[CACHE_NAME_BYTES];
	struct cache_item item = { .name = name };
	int r = check_length(w, err);

	if (r == 0) {
		(void)cache_label_parse(&w->label, w->label_bytes, &item);
		cache_name_of_identity(w->label.identity, w->label_bytes - sizeof(w->label), name);
		r = publish(w, &item, err);
	}
	cache_abandon(w);
	return r;
}
