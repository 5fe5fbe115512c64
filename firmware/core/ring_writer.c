/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring_shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define COLUMN_BYTES_MAX ((uint64_t)1 << 40)

static int check_geometry(const struct ring_geometry *geometry, struct error *err)
{
	if (geometry->slots < 2 || geometry->slots > RING_SLOTS_MAX || geometry->columns > RING_COLUMNS_MAX)
		return error_set(err, -EINVAL,
				 "a ring of %u slots and %u columns, allowed: 2 .. %u and up to %u",
				 geometry->slots, geometry->columns, RING_SLOTS_MAX, RING_COLUMNS_MAX);
	for (uint32_t i = 0; i < geometry->columns; i++)
		if (geometry->column[i].capacity > COLUMN_BYTES_MAX)
			return error_set(err, -EINVAL,
					 "ring column \"%s\" of %" PRIu64 " bytes, allowed: up to %" PRIu64,
					 geometry->column[i].name, geometry->column[i].capacity,
					 COLUMN_BYTES_MAX);
	return 0;
}

static void fill_control(struct ring *ring)
{
	struct ring_control *control = ring->control;

	control->version = RING_VERSION;
	control->slots = ring->geometry.slots;
	control->columns = ring->geometry.columns;
	control->slot_bytes = ring->slot_bytes;
	control->file_bytes = ring->file_bytes;
	memcpy(control->column, ring->geometry.column, sizeof(control->column));
	control->magic = RING_MAGIC;
}

static int create_file(const char *path, const struct ring_geometry *geometry, struct ring **ret_ring,
		       struct error *err)
{
	CLEANUP(ring_closep) struct ring *ring = NULL;
	char temporary[4096];
	uint64_t bytes = ring_file_bytes(geometry);
	int fd, r;

	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0660);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", temporary, strerror(errno));
	/* fallocate, not ftruncate: too few pages are an error here instead of a SIGBUS later. */
	if (fallocate(fd, 0, 0, (off_t)bytes) < 0) {
		r = error_set(err, -ENOMEM,
			      "%s: cannot reserve %" PRIu64 " bytes (%" PRIu64 " hugepages of 2 MiB): %s",
			      path, bytes, bytes >> 21, strerror(errno));
		(void)unlink(temporary);
		(void)close(fd);
		return r;
	}
	ring = ring_new(path, fd, true);
	if (!ring) {
		(void)close(fd);
		return error_set(err, -ENOMEM, "%s: no memory", path);
	}
	ring->geometry = *geometry;
	ring->file_bytes = bytes;
	if ((r = ring_lock(fd, RING_LOCK_WRITER)) < 0 || (r = ring_map(ring, err)) < 0)
		return r;
	fill_control(ring);
	if (rename(temporary, path) < 0)
		return error_set(err, -errno, "%s: cannot rename it to %s: %s", temporary, path,
				 strerror(errno));
	*ret_ring = TAKE(ring);
	return 0;
}

static bool same_ring(const struct ring_control *control, const struct ring *ring)
{
	return control->magic == RING_MAGIC && control->version == RING_VERSION &&
	       control->slots == ring->geometry.slots && control->columns == ring->geometry.columns &&
	       control->file_bytes == ring->file_bytes && atomic_load(&control->retired) == 0 &&
	       memcmp(control->column, ring->geometry.column, sizeof(control->column)) == 0;
}

/* Tell an old ring's reader to go, and wait until it has. */
static int retire(struct ring *old, uint32_t wait_ms, struct error *err)
{
	struct timespec nap = { .tv_nsec = 10000000 };

	atomic_store(&old->control->retired, 1);
	/* The reader sleeps on head; the bell alone wakes it. */
	atomic_store(&old->control->head_bell.waits, 1);
	ring_bell_ring(&old->control->head_bell);
	for (uint32_t waited = 0; ring_lock(old->fd, RING_LOCK_READER) == -EBUSY; waited += 10) {
		if (waited >= wait_ms)
			return error_set(err, -EBUSY,
					 "%s: its reader has not left the retired ring after %u ms",
					 old->path, wait_ms);
		(void)nanosleep(&nap, NULL);
	}
	return 0;
}

/* A file that is there: taken over when it is the same ring, retired otherwise (*ret_ring stays NULL then).
 */
static int take_over(const char *path, int file, const struct ring_geometry *geometry, uint32_t wait_ms,
		     struct ring **ret_ring, struct error *err)
{
	CLEANUP(close_fd) int fd = file;
	CLEANUP(ring_closep) struct ring *ring = NULL;
	struct stat st;
	int r = ring_lock(fd, RING_LOCK_WRITER);

	if (r < 0)
		return error_set(err, r, "%s: %s", path,
				 r == -EBUSY ? "another writer holds it" : strerror(-r));
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < RING_CONTROL_BYTES)
		return 0;
	ring = ring_new(path, fd, true);
	if (!ring)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	(void)take_fd(&fd);
	ring->geometry = *geometry;
	ring->file_bytes = (uint64_t)st.st_size;
	r = ring_map(ring, err);
	if (r < 0)
		return r;
	if (ring->file_bytes != ring_file_bytes(geometry) || !same_ring(ring->control, ring))
		return retire(ring, wait_ms, err);
	ring->position = ring->claimed = atomic_load(&ring->control->head);
	*ret_ring = TAKE(ring);
	return 0;
}

int ring_create(const char *path, const struct ring_geometry *geometry, uint32_t wait_ms,
		struct ring **ret_ring, struct error *err)
{
	struct ring *ring = NULL;
	int fd, r = check_geometry(geometry, err);

	if (r < 0)
		return r;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		r = take_over(path, fd, geometry, wait_ms, &ring, err);
		if (r < 0)
			return r;
		if (ring) {
			*ret_ring = ring;
			return 0;
		}
	}
	return create_file(path, geometry, ret_ring, err);
}

/* ---- Generations
 * ----------------------------------------------------------------------------------------------------------
 */

uint64_t ring_request(struct ring *ring, struct cursor *ret_from, bool *ret_closed)
{
	struct ring_control *control = ring->control;

	for (;;) {
		/* acquire, pairs with A1 in ring_attach(): wanted[request & 1] is whole. */
		uint64_t request = atomic_load_explicit(&control->request, memory_order_acquire);
		const struct ring_place *last = &control->cur[ring->position & 1];

		*ret_closed = false;
		if (request == 0)
			return 0;
		*ret_from = control->wanted[request & 1];
		/* Written by an earlier life of this writer: only the writer stores cur[] and ack, so plain
		 * reads do. */
		if (ring->position > 0 && atomic_load(&control->ack) == request &&
		    last->generation == request) {
			*ret_from = last->cursor;
			*ret_closed = ring_slot_at(ring, ring->position - 1)->kind == RING_ERROR;
		}
		/* A second request in the meantime may have overwritten wanted[]: look again. */
		if (atomic_load(&control->request) == request)
			return request;
	}
}

void ring_begin(struct ring *ring, uint64_t generation)
{
	ring_unclaim(ring);
	ring->generation = generation;
	atomic_store(&ring->control->ack, generation);
}

int ring_claim(struct ring *ring, struct ring_slot **ret_slot)
{
	/* acquire, pairs with R2 in ring_release(): the reader is done with the slot's bytes. */
	uint64_t tail = atomic_load_explicit(&ring->control->tail, memory_order_acquire);
	struct ring_slot *slot;

	ring->seen_tail = tail;
	if (atomic_load_explicit(&ring->dead, memory_order_relaxed) || tail > ring->position ||
	    ring->claimed - tail > ring->geometry.slots)
		return -EBADMSG;
	if (ring->claimed - tail == ring->geometry.slots)
		return -EAGAIN;
	slot = ring_slot_at(ring, ring->claimed++);
	memset(slot, 0, sizeof(*slot));
	*ret_slot = slot;
	return 0;
}

void ring_unclaim(struct ring *ring)
{
	ring->claimed = ring->position;
}

void ring_commit(struct ring *ring)
{
	struct ring_control *control = ring->control;
	uint64_t next = ring->position + 1;
	struct ring_slot *slot = ring_slot_at(ring, ring->position);

	slot->sequence = ring->position;
	slot->generation = ring->generation;
	slot->columns = ring->geometry.columns;
	for (uint32_t i = 0; i < ring->geometry.columns; i++) {
		slot->column[i].dtype = ring->geometry.column[i].dtype;
		slot->column[i].offset = ring->offset[i];
		slot->column[i].capacity = ring->geometry.column[i].capacity;
	}
	control->cur[next & 1].generation = ring->generation;
	control->cur[next & 1].cursor = slot->cursor;
	ring->position = next;
	/* W1: release, pairs with the acquire in ring_next(): slot and cur[] are whole. seq_cst for the bell.
	 */
	atomic_store(&control->head, next);
	ring_bell_ring(&control->head_bell);
}

int ring_writer_wait(struct ring *ring, uint32_t timeout_ms)
{
	struct ring_control *control = ring->control;
	/* Asleep only while what the last claim and the last begin saw still holds. */
	int r = ring_bell_wait(&control->tail_bell, &control->tail, ring->seen_tail, &control->request,
			       ring->generation, timeout_ms);

	/* A writer with nothing to claim (its generation has ended) must sleep the next time. */
	ring->seen_tail = atomic_load(&control->tail);
	return r;
}
