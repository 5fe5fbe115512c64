/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, reuses or retires the file of the ring, for the writer. Only the process that holds the lock of the
 * temporary file may replace the file at `path`, so two writers that start at the same time cannot replace
 * each other's ring.
 */
#include "core/ring/ring_shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* To retire a ring, only its control pages are mapped. They are in the first hugepage. */
#define RETIRED_MAP_BYTES ((uint64_t)2 << 20)
#define TEMPORARY         "%s.tmp"

static bool same_columns(const struct ring_control *control, const struct ring_geometry *geometry)
{
	if (control->slots != geometry->slots || control->columns != geometry->columns)
		return false;
	for (uint32_t i = 0; i < geometry->columns; i++) {
		const struct ring_column_spec *a = &control->column[i], *b = &geometry->column[i];

		if (strncmp(a->name, b->name, sizeof(a->name)) != 0 || a->dtype != b->dtype ||
		    a->row_bytes != b->row_bytes || a->capacity != b->capacity)
			return false;
	}
	return true;
}

/* Tells whether the writer can continue with an old file. `control` is a copy of the file's control pages.
 * The file cannot be used where its counters are out of range or the file was cut short. */
static bool usable(int fd, const struct ring_control *control, const struct ring_geometry *geometry,
		   uint64_t file_bytes)
{
	return control->magic == RING_MAGIC && control->version == RING_VERSION && control->retired == 0 &&
	       file_bytes == ring_bytes_in(fd, ring_file_bytes(geometry)) &&
	       control->file_bytes == file_bytes && same_columns(control, geometry) &&
	       control->head - control->tail <= control->slots;
}

/* Marks an old ring as retired, and waits until its reader has left. */
static int retire(struct ring *old, uint32_t wait_ms, struct error *err)
{
	struct timespec nap = { .tv_nsec = 10000000 };

	/* X1: release, pairs with X2 in ring_next() and ring_open(). */
	atomic_store_explicit(&old->control->retired, 1, memory_order_release);
	ring_bell_wake(&old->control->head_bell);
	for (uint32_t waited = 0; ring_lock(old->fd, RING_LOCK_READER) == -EBUSY; waited += 10) {
		if (waited >= wait_ms)
			return error_set(err, -EBUSY,
					 "%s: its reader has not left the retired ring after %u ms",
					 old->path, wait_ms);
		(void)nanosleep(&nap, NULL);
	}
	return 0;
}

/* Removes the old file and frees its pages at once, even while another process has it open, because the new
 * file may need them. Where unlink(2) fails, the later rename replaces the file. */
static int give_back(const char *path, int fd, struct error *err)
{
	(void)unlink(path);
	if (ftruncate(fd, 0) < 0)
		return error_set(err, -errno, "%s: cannot empty it: %s", path, strerror(errno));
	return 0;
}

/* Opens an old file whose writer lock we hold. *ret_ring stays NULL where the file was not a ring, or the
 * ring had to be retired; then the file is removed. */
static int open_locked(const char *path, int file, const struct ring_geometry *geometry, uint32_t wait_ms,
		       struct ring **ret_ring, struct error *err)
{
	CLEANUP(close_fd) int fd = file;
	CLEANUP(ring_closep) struct ring *ring = NULL;
	struct ring_control control;
	struct stat st;
	bool same;
	int r;

	if (fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: cannot look at it: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EUCLEAN, "%s: not a file", path);
	if (ring_control_read(path, fd, &control, NULL) < 0 || control.magic != RING_MAGIC)
		return give_back(path, fd, err);
	same = usable(fd, &control, geometry, (uint64_t)st.st_size);
	ring = ring_new(path, take_fd(&fd), true);
	if (!ring)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	ring->geometry = *geometry;
	ring->file_bytes = same || (uint64_t)st.st_size < RETIRED_MAP_BYTES
				   ? (uint64_t)st.st_size
				   : ring_bytes_in(ring->fd, RETIRED_MAP_BYTES);
	r = ring_map(ring, err);
	if (r < 0)
		return r;
	if (!same) {
		r = retire(ring, wait_ms, err);
		return r < 0 ? r : give_back(path, ring->fd, err);
	}
	ring->position = ring->claimed = control.head;
	*ret_ring = TAKE(ring);
	return 0;
}

static int open_old(const char *path, const struct ring_geometry *geometry, uint32_t wait_ms,
		    struct ring **ret_ring, struct error *err)
{
	int r, fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	r = ring_lock(fd, RING_LOCK_WRITER);
	if (r < 0) {
		(void)close(fd);
		return error_set(err, r, "%s: %s", path,
				 r == -EBUSY ? "another writer holds it" : strerror(-r));
	}
	return open_locked(path, fd, geometry, wait_ms, ret_ring, err);
}

/* Opens the temporary file and locks it. Repeats where another process replaced the file before we got the
 * lock. */
static int hold_temporary(const char *temporary, int *ret_fd, struct error *err)
{
	for (;;) {
		CLEANUP(close_fd) int fd = open(temporary, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
		struct stat ours, named;
		int r;

		if (fd < 0)
			return error_set(err, -errno, "%s: cannot make it: %s", temporary, strerror(errno));
		r = ring_lock(fd, RING_LOCK_WRITER);
		if (r < 0)
			return error_set(err, r, "%s: %s", temporary,
					 r == -EBUSY ? "another writer is making a ring" : strerror(-r));
		if (fstat(fd, &ours) == 0 && stat(temporary, &named) == 0 && ours.st_ino == named.st_ino &&
		    ours.st_dev == named.st_dev) {
			*ret_fd = take_fd(&fd);
			return 0;
		}
	}
}

/* Reserves the pages of the file by fallocate(2). With ftruncate(2) alone, too few pages would raise SIGBUS
 * at a later access; here they are an error. */
static int reserve(const char *path, int fd, uint64_t bytes, struct error *err)
{
	int r;

	/* Free the pages of a file that a killed writer left. Set the mode by fchmod(2), because the umask
	 * must not change who may read. */
	if (ftruncate(fd, 0) < 0 || fchmod(fd, 0660) < 0)
		return error_set(err, -errno, "%s: cannot empty it: %s", path, strerror(errno));
	do {
		r = fallocate(fd, 0, 0, (off_t)bytes) < 0 ? -errno : 0;
	} while (r == -EINTR);
	if (r < 0)
		return error_set(err, r == -ENOSPC ? -ENOMEM : r,
				 "%s: cannot reserve %" PRIu64 " bytes (%" PRIu64 " pages of 2 MiB): %s",
				 path, bytes, bytes >> 21, strerror(-r));
	return 0;
}

static int make_new(const char *path, const char *temporary, int held, const struct ring_geometry *geometry,
		    struct ring **ret_ring, struct error *err)
{
	CLEANUP(ring_closep) struct ring *ring = ring_new(path, held, true);
	int r;

	if (!ring)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	ring->geometry = *geometry;
	ring->file_bytes = ring_bytes_in(ring->fd, ring_file_bytes(geometry));
	if ((r = reserve(path, ring->fd, ring->file_bytes, err)) < 0 || (r = ring_map(ring, err)) < 0)
		return r;
	ring->control->version = RING_VERSION;
	ring->control->slots = geometry->slots;
	ring->control->columns = geometry->columns;
	ring->control->slot_bytes = ring->slot_bytes;
	ring->control->file_bytes = ring->file_bytes;
	memcpy(ring->control->column, geometry->column, sizeof(ring->control->column));
	ring->control->magic = RING_MAGIC;
	if (rename(temporary, path) < 0)
		return error_set(err, -errno, "%s: cannot rename it to %s: %s", temporary, path,
				 strerror(errno));
	*ret_ring = TAKE(ring);
	return 0;
}

uint64_t ring_held_bytes(const char *path)
{
	char temporary[4096];
	uint64_t bytes = 0;
	struct stat st;

	(void)snprintf(temporary, sizeof(temporary), TEMPORARY, path);
	if (stat(path, &st) == 0)
		bytes += (uint64_t)st.st_size;
	if (stat(temporary, &st) == 0)
		bytes += (uint64_t)st.st_size;
	return bytes;
}

int ring_discard(const char *path, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	if ((r = ring_lock(fd, RING_LOCK_WRITER)) < 0 || (r = ring_lock(fd, RING_LOCK_READER)) < 0)
		return error_set(err, r, "%s: %s", path,
				 r == -EBUSY ? "a writer or a reader holds it" : strerror(-r));
	return give_back(path, fd, err);
}

int ring_create(const char *path, const struct ring_geometry *geometry, uint32_t wait_ms,
		struct ring **ret_ring, struct error *err)
{
	CLEANUP(close_fd) int held = -1;
	struct ring *ring = NULL;
	char temporary[4096];
	int r = ring_geometry_check(path, geometry, -EINVAL, err);

	if (r < 0)
		return r;
	if ((size_t)snprintf(temporary, sizeof(temporary), TEMPORARY, path) >= sizeof(temporary))
		return error_set(err, -ENAMETOOLONG, "%s: the name is longer than %zu bytes", path,
				 sizeof(temporary) - 5);
	r = hold_temporary(temporary, &held, err);
	if (r < 0)
		return r;
	r = open_old(path, geometry, wait_ms, &ring, err);
	if (r == 0 && !ring)
		r = make_new(path, temporary, take_fd(&held), geometry, &ring, err);
	/* Remove the temporary file where it was not used, or making the ring failed. */
	if (held >= 0 || r < 0)
		(void)unlink(temporary);
	if (r == 0)
		*ret_ring = ring;
	return r;
}
