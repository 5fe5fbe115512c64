/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ring_shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define HUGE_PAGE_BYTES ((uint64_t)2 << 20)

/* With this bound, at most 2050 columns and 4096 slots, every computed size is below 2^64. */
#define COLUMN_BYTES_MAX ((uint64_t)1 << 40)

/* ---- Geometry ---- */

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + RING_COLUMN_ALIGN - 1) / RING_COLUMN_ALIGN * RING_COLUMN_ALIGN;
}

uint64_t ring_head_bytes(const struct ring_geometry *geometry)
{
	return aligned(offsetof(struct ring_slot, column) + geometry->columns * sizeof(struct ring_column));
}

void ring_layout(const struct ring_geometry *geometry, uint64_t *ret_slot_bytes,
		 uint64_t offset[RING_COLUMNS_MAX])
{
	const uint64_t head = ring_head_bytes(geometry);
	uint64_t used = head;

	for (uint32_t i = 0; i < geometry->columns; i++) {
		offset[i] = used;
		used += aligned(geometry->column[i].capacity);
	}
	/* Every slot has space for the record of an ERROR slot. */
	if (used < head + aligned(sizeof(struct ring_error)))
		used = head + aligned(sizeof(struct ring_error));
	*ret_slot_bytes = used;
}

int ring_geometry_check(const char *path, const struct ring_geometry *geometry, int code, struct error *err)
{
	if (geometry->slots < 2 || geometry->slots > RING_SLOTS_MAX || geometry->columns > RING_COLUMNS_MAX)
		return error_set(err, code,
				 "%s: found %u slots and %u columns, expected 2 .. %u and up to %u", path,
				 geometry->slots, geometry->columns, RING_SLOTS_MAX, RING_COLUMNS_MAX);
	for (uint32_t i = 0; i < geometry->columns; i++) {
		const struct ring_column_spec *spec = &geometry->column[i];

		if (!memchr(spec->name, '\0', sizeof(spec->name)))
			return error_set(err, code, "%s: the name of column %u is not terminated", path, i);
		if (spec->dtype < RING_FLOAT32 || spec->dtype > RING_UINT8 ||
		    spec->capacity > COLUMN_BYTES_MAX)
			return error_set(err, code,
					 "%s: column \"%s\" of type %u and %" PRIu64
					 " bytes, expected a type of %u .. %u and up to %" PRIu64 " bytes",
					 path, spec->name, spec->dtype, spec->capacity, RING_FLOAT32,
					 RING_UINT8, COLUMN_BYTES_MAX);
	}
	return 0;
}

uint64_t ring_file_bytes(const struct ring_geometry *geometry)
{
	uint64_t offset[RING_COLUMNS_MAX], slot_bytes;

	ring_layout(geometry, &slot_bytes, offset);
	return (RING_CONTROL_BYTES + geometry->slots * slot_bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES *
	       HUGE_PAGE_BYTES;
}

/* ---- Files ---- */

uint64_t ring_bytes_in(int fd, uint64_t bytes)
{
	struct stat st;
	uint64_t page = fstat(fd, &st) == 0 && st.st_blksize > 0 ? (uint64_t)st.st_blksize : 1;

	return page > HUGE_PAGE_BYTES ? (bytes + page - 1) / page * page : bytes;
}

/* Locks one byte of the file. These are locks of the open file description: the kernel unlocks when the
 * process ends, and a second open by the same process conflicts, too. */
int ring_lock(int fd, enum ring_lock_byte byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	return 0;
}

int ring_control_read(const char *path, int fd, struct ring_control *ret_control, struct error *err)
{
	ssize_t bytes = pread(fd, ret_control, sizeof(*ret_control), 0);

	if (bytes < 0)
		return error_set(err, -errno, "%s: cannot read it: %s", path, strerror(errno));
	if ((size_t)bytes < sizeof(*ret_control))
		return error_set(err, -EUCLEAN, "%s: %zd bytes, a ring has at least %zu", path, bytes,
				 RING_CONTROL_BYTES);
	return 0;
}

struct ring *ring_new(const char *path, int fd, bool writer)
{
	struct ring *ring = calloc(1, sizeof(*ring) + strlen(path) + 1);

	if (!ring) {
		(void)close(fd);
		return NULL;
	}
	ring->fd = fd;
	ring->writer = writer;
	ring->guard = RING_NO_GUARD;
	memcpy(ring->path, path, strlen(path) + 1);
	return ring;
}

int ring_map(struct ring *ring, struct error *err)
{
	struct statfs fs;
	void *memory =
		mmap(NULL, ring->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->fd, 0);

	if (memory == MAP_FAILED)
		return error_set(err, -errno, "%s: cannot map %" PRIu64 " bytes: %s", ring->path,
				 ring->file_bytes, strerror(errno));
	ring->control = memory;
	ring->slots = (uint8_t *)memory + RING_CONTROL_BYTES;
	ring->pages = fstatfs(ring->fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC ? RING_HUGE_PAGES
										  : RING_SMALL_PAGES;
	ring->head_bytes = ring_head_bytes(&ring->geometry);
	ring_layout(&ring->geometry, &ring->slot_bytes, ring->offset);
	ring->guard = ring_guard_add(memory, ring->file_bytes);
	if (ring->guard == RING_NO_GUARD)
		return error_set(err, -ENFILE, "%s: this process has %u rings open already", ring->path,
				 RING_GUARDS_MAX);
	return 0;
}

/* ---- Both sides ---- */

void ring_close(struct ring *ring)
{
	if (!ring)
		return;
	ring_guard_drop(ring->guard);
	if (ring->control)
		(void)munmap(ring->control, ring->file_bytes);
	close_fd(&ring->fd);
	free((void *)ring->done);
	free(ring->copy);
	free(ring);
}

void ring_closep(struct ring **ring)
{
	ring_close(*ring);
}

const struct ring_geometry *ring_geometry_of(const struct ring *ring)
{
	return &ring->geometry;
}

uint64_t ring_slot_bytes(const struct ring *ring)
{
	return ring->slot_bytes;
}

enum ring_pages ring_pages_of(const struct ring *ring)
{
	return ring->pages;
}

void *ring_memory(const struct ring *ring, uint64_t *ret_bytes)
{
	*ret_bytes = ring->geometry.slots * ring->slot_bytes;
	return ring->slots;
}

bool ring_intact(const struct ring *ring)
{
	return !ring_guard_dead(ring->guard);
}

/* Returns the start of a slot in the file. For the writer `slot` is already this address; for the reader
 * `slot` is a copy of the header. */
static uint8_t *slot_bytes_of(const struct ring *ring, const struct ring_slot *slot)
{
	if (ring->writer)
		return (uint8_t *)(uintptr_t)slot;
	return ring->slots + ring_copy_index(ring, slot) * ring->slot_bytes;
}

void *ring_column_data(const struct ring *ring, const struct ring_slot *slot, uint32_t column)
{
	return slot_bytes_of(ring, slot) + ring->offset[column];
}

struct ring_error *ring_error_data(const struct ring *ring, const struct ring_slot *slot)
{
	return (struct ring_error *)(void *)(slot_bytes_of(ring, slot) + ring->head_bytes);
}
