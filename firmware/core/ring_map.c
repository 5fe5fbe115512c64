/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring_shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define HUGE_PAGE_BYTES ((uint64_t)2 << 20)

/* ---- A peer that cuts the file
 * ------------------------------------------------------------------------------------------ Touching a
 * mapping behind the end of its file raises SIGBUS. The handler puts zero pages under the whole ring and
 * marks it dead, so that the access goes on, reads zeros, and the next call reports -EBADMSG. Rings are few
 * and are linked in and out under a lock; the handler only walks. */

static struct ring *_Atomic guarded;
static pthread_mutex_t guarded_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction old_action;

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr;

	(void)context;
	for (struct ring *ring = atomic_load(&guarded); ring; ring = ring->next_guarded) {
		uint8_t *start = (uint8_t *)ring->control;

		if (at < start || at >= start + ring->file_bytes)
			continue;
		atomic_store(&ring->dead, 1);
		if (mmap(start, ring->file_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	/* Not ours: what was there before gets it, when the access is tried again. */
	(void)sigaction(signal, &old_action, NULL);
}

static void guard(struct ring *ring)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	(void)pthread_mutex_lock(&guarded_lock);
	if (!atomic_load(&guarded))
		(void)sigaction(SIGBUS, &action, &old_action);
	ring->next_guarded = atomic_load(&guarded);
	atomic_store(&guarded, ring);
	(void)pthread_mutex_unlock(&guarded_lock);
}

static void unguard(struct ring *ring)
{
	struct ring *before;

	(void)pthread_mutex_lock(&guarded_lock);
	before = atomic_load(&guarded);
	if (before == ring) {
		atomic_store(&guarded, ring->next_guarded);
	} else {
		while (before && before->next_guarded != ring)
			before = before->next_guarded;
		if (before)
			before->next_guarded = ring->next_guarded;
	}
	(void)pthread_mutex_unlock(&guarded_lock);
}

/* ---- Geometry
 * ------------------------------------------------------------------------------------------------------------
 */

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + RING_COLUMN_ALIGN - 1) / RING_COLUMN_ALIGN * RING_COLUMN_ALIGN;
}

void ring_layout(const struct ring_geometry *geometry, uint64_t *ret_slot_bytes,
		 uint64_t offset[RING_COLUMNS_MAX])
{
	uint64_t used = RING_COLUMN_ALIGN;

	for (uint32_t i = 0; i < geometry->columns; i++) {
		offset[i] = used;
		used += aligned(geometry->column[i].capacity);
	}
	/* Room for an ERROR slot's record. */
	if (used < RING_COLUMN_ALIGN + aligned(sizeof(struct ring_error)))
		used = RING_COLUMN_ALIGN + aligned(sizeof(struct ring_error));
	*ret_slot_bytes = used;
}

uint64_t ring_file_bytes(const struct ring_geometry *geometry)
{
	uint64_t offset[RING_COLUMNS_MAX], slot_bytes;

	ring_layout(geometry, &slot_bytes, offset);
	return (RING_CONTROL_BYTES + geometry->slots * slot_bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES *
	       HUGE_PAGE_BYTES;
}

/* ---- Files
 * ----------------------------------------------------------------------------------------------------------------
 */

/* Open-file-description locks: they go with the process, and a second open of the same process conflicts too.
 */
int ring_lock(int fd, enum ring_lock_byte byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	return 0;
}

struct ring *ring_new(const char *path, int fd, bool writer)
{
	struct ring *ring = calloc(1, sizeof(*ring) + strlen(path) + 1);

	if (!ring)
		return NULL;
	ring->fd = fd;
	ring->writer = writer;
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
	ring_layout(&ring->geometry, &ring->slot_bytes, ring->offset);
	guard(ring);
	return 0;
}

void ring_close(struct ring *ring)
{
	if (!ring)
		return;
	if (ring->control) {
		unguard(ring);
		(void)munmap(ring->control, ring->file_bytes);
	}
	close_fd(&ring->fd);
	free((void *)ring->done);
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

void *ring_column_data(const struct ring *ring, const struct ring_slot *slot, uint32_t column)
{
	return (uint8_t *)(uintptr_t)slot + ring->offset[column];
}

struct ring_error *ring_error_data(const struct ring_slot *slot)
{
	return (struct ring_error *)(void *)((uint8_t *)(uintptr_t)slot + RING_COLUMN_ALIGN);
}
