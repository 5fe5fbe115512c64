/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/backend.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#define REQUESTS_MAX 4u /* in flight at a time */

/* ---- An object into a file ---- */

/* Fetches the whole object into memory, in parts of part_bytes, a few at a time. No request is in flight any
 * more when the function returns. */
static int get_parts(struct store *store, const struct store_object *object, const char *key, char *memory,
		     struct error *err)
{
	struct store_request requests[REQUESTS_MAX];
	uint64_t part = store->options.part_bytes, parts = (object->pin.bytes + part - 1) / part;
	uint64_t next = 0, waited = 0;
	int result = 0;

	while (waited < next || (next < parts && result == 0)) {
		struct store_request *request = &requests[next % REQUESTS_MAX];
		int r;

		if (next < parts && result == 0 && next - waited < REQUESTS_MAX) {
			uint64_t offset = next * part, left = object->pin.bytes - offset;

			*request = (struct store_request){ .key = key,
							   .pin = &object->pin,
							   .offset = offset,
							   .buffer = memory + offset,
							   .bytes = left < part ? left : part };
			r = store_submit(store, request, err);
			next += r == 0;
		} else {
			r = store_wait(store, &requests[waited++ % REQUESTS_MAX], result ? NULL : err);
		}
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}

/* Reserves the file's blocks before it maps the file, so that a full disk is an error here and not a SIGBUS
 * later. */
static int get_into(struct store *store, const struct store_object *object, const char *key, int fd,
		    struct error *err)
{
	uint64_t bytes = object->pin.bytes;
	char *memory;
	int r;

	if (!bytes)
		return 0;
	r = posix_fallocate(fd, 0, (off_t)bytes);
	if (r)
		return error_set(err, -r, "%" PRIu64 " bytes: %s", bytes, strerror(r));
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return error_set(err, -errno, "mapping %" PRIu64 " bytes: %s", bytes, strerror(errno));
	r = get_parts(store, object, key, memory, err);
	(void)munmap(memory, bytes);
	return r;
}

static int sync_parent(const char *path)
{
	char directory[4096];
	char *slash;

	(void)snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = 0;
	CLEANUP(close_fd) int fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Refuses a size before anything is fetched: the server names it, and it may be any number. */
static int check_size(const struct store *store, const struct store_object *object, int fd, uint64_t max,
		      struct error *err)
{
	const uint64_t bytes = object->pin.bytes;
	struct statvfs disk;
	uint64_t available;

	if (bytes > max)
		return error_set(err, -EFBIG, "%s/%s: %" PRIu64 " bytes, at most %" PRIu64 " are expected",
				 store->url, object->key, bytes, max);
	if (fstatvfs(fd, &disk) < 0)
		return error_set(err, -errno, "%s/%s: %s", store->url, object->key, strerror(errno));
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (available >= STORE_SPARE_BYTES && bytes <= available - STORE_SPARE_BYTES)
		return 0;
	return error_set(err, -ENOSPC,
			 "%s/%s: no space: it has %" PRIu64 " bytes, %" PRIu64 " are free, of which %" PRIu64
			 " stay free",
			 store->url, object->key, bytes, available, STORE_SPARE_BYTES);
}

static int get_file(struct store *store, const char *key, const char *path, uint64_t max, struct error *err)
{
	char temporary[4096];
	struct store_object object = { 0 };
	int r = store_stat(store, key, &object, err);

	if (r < 0)
		return r;
	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
		return error_set(err, -ENAMETOOLONG, "%s: the path is too long", path);
	CLEANUP(close_fd) int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_set(err, -errno, "%s: %s", temporary, strerror(errno));
	r = check_size(store, &object, fd, max, err);
	if (r == 0)
		r = get_into(store, &object, key, fd, err);
	if (r == 0 && (fsync(fd) < 0 || rename(temporary, path) < 0 || sync_parent(path) < 0))
		r = error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (r < 0)
		(void)unlink(temporary);
	return r;
}

/* Size and version come from one answer, which may be wrong, and the object may be replaced right after it.
 * So an error that follows from them is believed the second time. */
int store_get_file(struct store *store, const char *key, const char *path, uint64_t max, struct error *err)
{
	int r = get_file(store, key, path, max, err);

	return r == -ESTALE || r == -EFBIG || r == -ENOSPC ? get_file(store, key, path, max, err) : r;
}
