/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "drivers/cache/internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#define SAMPLE_PAGES 64u /* cache_is_resident() looks at every 64th page only */

/* ---- The folder ---- */

/* Checks that files can be made in the cache's folder, and that they can have extended attributes. */
static int probe(const struct cache *cache, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char path[64];
	int r = 0;

	(void)snprintf(path, sizeof(path), "new/probe-%d", (int)getpid());
	fd = openat(cache->fd, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0664);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot make files: %s", cache->folder, strerror(errno));
	if (fsetxattr(fd, CACHE_XATTR, "", 0, 0) < 0)
		r = error_set(err, -errno, "%s: cannot give files extended attributes: %s", cache->folder,
			      strerror(errno));
	(void)unlinkat(cache->fd, path, 0);
	return r;
}

static int make_folders(const struct cache *cache, struct error *err)
{
	static const char *const names[] = { "objects", "new", "tree" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (mkdirat(cache->fd, names[i], 0775) < 0 && errno != EEXIST)
			return error_set(err, -errno, "%s: cannot make a folder: %s", cache->folder,
					 strerror(errno));
	return probe(cache, err);
}

int cache_open(const char *folder, enum cache_use use, struct cache **ret_cache, struct error *err)
{
	CLEANUP(cache_closep) struct cache *cache = malloc(sizeof(*cache) + strlen(folder) + 1);
	int r;

	if (!cache)
		return error_set(err, -ENOMEM, "no memory for a cache");
	cache->fd = cache->claims = -1;
	cache->use = use;
	memcpy(cache->folder, folder, strlen(folder) + 1);
	if (use == CACHE_WRITE && (r = path_make(folder, err)) < 0)
		return r;
	cache->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cache->fd < 0)
		return error_set(err, -errno, "%s: %s", folder, strerror(errno));
	if (use == CACHE_WRITE && (r = make_folders(cache, err)) < 0)
		return r;
	if (use == CACHE_WRITE)
		cache_claims_open(cache);
	*ret_cache = TAKE(cache);
	return 0;
}

void cache_closep(struct cache **cache)
{
	if (!*cache)
		return;
	close_fd(&(*cache)->fd);
	close_fd(&(*cache)->claims);
	free(*cache);
	*cache = NULL;
}

const char *cache_folder(const struct cache *cache)
{
	return cache->folder;
}

uint64_t cache_free_bytes(const struct cache *cache)
{
	struct statvfs fs;

	return fstatvfs(cache->fd, &fs) < 0 ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize;
}

uint64_t cache_mark(const struct cache *cache)
{
	struct stat st;

	if (fstatat(cache->fd, "objects", &st, 0) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

void cache_changed(const struct cache *cache)
{
	(void)utimensat(cache->fd, "objects", NULL, 0);
}

/* ---- Views ---- */

/* Checks that the label and the length of the file are those of this object. */
static int check_label(const struct cache_object *object, int fd, struct cache_view *view, struct error *err)
{
	union {
		struct cache_label label;
		char label_buffer[CACHE_LABEL_MAX];
	} found;
	char identity[CACHE_LABEL_MAX];
	size_t bytes = cache_identity(object, identity, sizeof(identity));
	ssize_t label_bytes = cache_label_read(fd, &found.label);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s", strerror(errno));
	if (label_bytes < 0 && label_bytes != -ENODATA && label_bytes != -ERANGE)
		return error_set(err, (int)label_bytes, "cannot read its label: %s",
				 strerror((int)-label_bytes));
	if (label_bytes < 0 || (size_t)label_bytes != sizeof(found.label) + bytes ||
	    found.label.magic != CACHE_LABEL_MAGIC || memcmp(found.label.identity, identity, bytes) != 0)
		return error_set(err, -EBADMSG, "its label is not the object's");
	if (found.label.bytes != object->pin->bytes || (uint64_t)st.st_size != object->pin->bytes)
		return error_set(err, -EBADMSG,
				 "the file has %jd bytes, its label says %" PRIu64
				 ", the object has %" PRIu64,
				 (intmax_t)st.st_size, found.label.bytes, object->pin->bytes);
	view->bytes = object->pin->bytes;
	view->crc32 = found.label.crc32;
	return 0;
}

/* mmap() refuses a length of 0. `data` must not be NULL for a mapped file, so for an empty file it points at
 * a constant that nobody reads. */
static int map_file(struct cache_view *view, int fd, struct error *err)
{
	static const uint8_t nothing;
	void *data = (void *)(uintptr_t)&nothing;

	if (view->bytes > 0)
		data = mmap(NULL, view->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return error_set(err, -errno, "cannot map it: %s", strerror(errno));
	view->data = data;
	return 0;
}

int cache_map(const struct cache *cache, const struct cache_object *object, struct cache_view *ret_view,
	      struct error *err)
{
	char name[CACHE_NAME_BYTES], path[CACHE_PATH_BYTES];
	struct cache_view view = { 0 };
	int r;

	cache_name(object, name);
	CLEANUP(close_fd)
	int fd = openat(cache->fd, cache_path(name, path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : error_set(err, -errno, "%s/%s: %s", cache->folder, path, strerror(errno));
	r = check_label(object, fd, &view, err);
	if (r == 0)
		r = map_file(&view, fd, err);
	if (r < 0) {
		(void)error_prefix(err, "%s/%s", cache->folder, path);
		if (r == -EBADMSG)
			(void)cache_remove(cache, name, NULL);
		return r;
	}
	(void)futimens(fd, NULL);
	view.fd = take_fd(&fd);
	*ret_view = view;
	return 1;
}

static uint64_t within(const struct cache_view *view, uint64_t offset, uint64_t bytes)
{
	if (offset >= view->bytes)
		return 0;
	return bytes < view->bytes - offset ? bytes : view->bytes - offset;
}

void cache_read_ahead(const struct cache_view *view, uint64_t offset, uint64_t bytes)
{
	bytes = within(view, offset, bytes);
	if (bytes > 0)
		(void)posix_fadvise(view->fd, (off_t)offset, (off_t)bytes, POSIX_FADV_WILLNEED);
}

/* With MADV_POPULATE_READ a disk error is EFAULT here; without it, the first access to the page would raise
 * SIGBUS (madvise(2)). Kernels before 5.14 do not know it and return EINVAL: there each page is read at the
 * first access. */
int cache_read(const struct cache_view *view, uint64_t offset, uint64_t bytes, struct error *err)
{
	bytes = within(view, offset, bytes);
	if (bytes == 0 || madvise((void *)(uintptr_t)(view->data + offset), bytes, MADV_POPULATE_READ) == 0 ||
	    errno == EINVAL)
		return 0;
	return error_set(err, -EIO, "cannot read bytes %" PRIu64 " to %" PRIu64 ": %s", offset,
			 offset + bytes, strerror(errno == EFAULT ? EIO : errno));
}

/* Looks at every 64th page only. That is enough for a file that was read in order: long runs of its pages are
 * in memory, or are not, together. */
bool cache_is_resident(const struct cache_view *view)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), asked = 0, found = 0;

	for (uint64_t at = 0; at < view->bytes; at += SAMPLE_PAGES * page) {
		unsigned char there = 0;

		if (mincore((void *)(uintptr_t)(view->data + at), 1, &there) < 0)
			return false;
		found += there & 1;
		asked++;
	}
	return found * 10 >= asked * 9;
}

int cache_read_direct(const struct cache_view *view, uint64_t offset, uint64_t bytes, void *to,
		      struct error *err)
{
	uint64_t done = 0;
	int flags = fcntl(view->fd, F_GETFL);

	bytes = within(view, offset, bytes);
	if (flags < 0 || (!(flags & O_DIRECT) && fcntl(view->fd, F_SETFL, flags | O_DIRECT) < 0))
		return error_set(err, -EINVAL, "cannot be read without the page cache (O_DIRECT): %s",
				 strerror(errno));
	while (done < bytes) {
		uint64_t left = bytes - done + CACHE_DIRECT_ALIGN - 1;
		ssize_t got = pread(view->fd, (uint8_t *)to + done, left - left % CACHE_DIRECT_ALIGN,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EINVAL)
			return error_set(err, -EINVAL, "cannot be read without the page cache (O_DIRECT)");
		if (got <= 0)
			return error_set(err, -EIO, "cannot read at byte %" PRIu64 ": %s", offset + done,
					 got < 0 ? strerror(errno) : "it became shorter");
		done += (uint64_t)got;
	}
	return 0;
}

bool cache_is_sound(const struct cache_view *view, const void *data)
{
	return libdeflate_crc32(0, data, view->bytes) == view->crc32;
}

void cache_view_close(struct cache_view *view)
{
	if (!view->data)
		return;
	close_fd(&view->fd);
	view->fd = -1;
}

void cache_view_done(struct cache_view *view)
{
	if (!view->data)
		return;
	if (view->bytes > 0)
		(void)munmap((void *)(uintptr_t)view->data, view->bytes);
	cache_view_close(view);
	*view = (struct cache_view){ 0 };
}

int cache_touch(const struct cache *cache, const struct cache_object *object)
{
	char name[CACHE_NAME_BYTES], path[CACHE_PATH_BYTES];

	cache_name(object, name);
	(void)cache_path(name, path);
	return faccessat(cache->fd, path, F_OK, 0) == 0 &&
	       (utimensat(cache->fd, path, NULL, 0) == 0 || errno != ENOENT);
}
