/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring_shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Copy, then check the copy: the writer may change its page at any time. */
static int read_geometry(struct ring *ring, const struct ring_control *control, struct error *err)
{
	struct ring_geometry *geometry = &ring->geometry;
	uint64_t offset[RING_COLUMNS_MAX], slot_bytes, capacity = 0;

	if (control->magic != RING_MAGIC || control->version != RING_VERSION)
		return error_set(err, -EBADMSG,
				 "%s: found magic %016" PRIx64 " version %u, expected a ring of version %u",
				 ring->path, control->magic, control->version, RING_VERSION);
	geometry->slots = control->slots;
	geometry->columns = control->columns;
	memcpy(geometry->column, control->column, sizeof(geometry->column));
	if (geometry->slots < 2 || geometry->slots > RING_SLOTS_MAX || geometry->columns > RING_COLUMNS_MAX)
		return error_set(
			err, -EBADMSG, "%s: found %u slots and %u columns, expected 2 .. %u and up to %u",
			ring->path, geometry->slots, geometry->columns, RING_SLOTS_MAX, RING_COLUMNS_MAX);
	for (uint32_t i = 0; i < geometry->columns; i++) {
		geometry->column[i].name[RING_NAME_MAX - 1] = '\0';
		if (geometry->column[i].capacity > ring->file_bytes ||
		    __builtin_add_overflow(capacity, geometry->column[i].capacity, &capacity) ||
		    capacity > ring->file_bytes)
			return error_set(err, -EBADMSG,
					 "%s: column %u of %" PRIu64
					 " bytes does not fit the file's %" PRIu64,
					 ring->path, i, geometry->column[i].capacity, ring->file_bytes);
	}
	ring_layout(geometry, &slot_bytes, offset);
	if (control->slot_bytes != slot_bytes || control->file_bytes != ring->file_bytes ||
	    ring_file_bytes(geometry) != ring->file_bytes)
		return error_set(err, -EBADMSG,
				 "%s: a file of %" PRIu64 " bytes, expected %" PRIu64 " by its header",
				 ring->path, ring->file_bytes, ring_file_bytes(geometry));
	return 0;
}

static int open_checked(struct ring *ring, struct error *err)
{
	uint64_t head, tail;
	int r;

	if ((r = ring_map(ring, err)) < 0 || (r = read_geometry(ring, ring->control, err)) < 0)
		return r;
	ring_layout(&ring->geometry, &ring->slot_bytes, ring->offset);
	if (atomic_load(&ring->control->retired))
		return error_set(err, -ESTALE, "%s: retired, a new ring takes its place", ring->path);
	head = atomic_load(&ring->control->head);
	tail = atomic_load(&ring->control->tail);
	if (head - tail > ring->geometry.slots)
		return error_set(err, -EBADMSG, "%s: head %" PRIu64 " and tail %" PRIu64 " of %u slots",
				 ring->path, head, tail, ring->geometry.slots);
	ring->position = tail;
	atomic_store(&ring->released, tail);
	ring->done = calloc(ring->geometry.slots, sizeof(*ring->done));
	return ring->done ? 0 : error_set(err, -ENOMEM, "%s: no memory", ring->path);
}

int ring_open(const char *path, struct ring **ret_ring, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC);
	CLEANUP(ring_closep) struct ring *ring = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	r = ring_lock(fd, RING_LOCK_READER);
	if (r < 0)
		return error_set(err, r, "%s: %s", path,
				 r == -EBUSY ? "another reader holds it" : strerror(-r));
	if ((uint64_t)st.st_size < RING_CONTROL_BYTES)
		return error_set(err, -EBADMSG, "%s: %jd bytes, a ring has at least %zu", path,
				 (intmax_t)st.st_size, RING_CONTROL_BYTES);
	ring = ring_new(path, fd, false);
	if (!ring)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	(void)take_fd(&fd);
	ring->file_bytes = (uint64_t)st.st_size;
	r = open_checked(ring, err);
	if (r < 0)
		return r;
	*ret_ring = TAKE(ring);
	return 0;
}

void ring_attach(struct ring *ring, const struct cursor *wanted)
{
	struct ring_control *control = ring->control;
	uint64_t tail = atomic_load(&control->tail), generation = atomic_load(&control->request);
	const struct ring_place *place = &control->read_at[tail & 1];

	/* The slot at tail already is the wanted one: go on in its generation, nothing is fetched again. */
	if (generation && ring->position == tail && place->generation == generation &&
	    memcmp(&place->cursor, wanted, sizeof(*wanted)) == 0) {
		ring->generation = generation;
		return;
	}
	generation++;
	control->wanted[generation & 1] = *wanted;
	ring->generation = generation;
	/* A1: release, pairs with the acquire in ring_request(): wanted[] is whole. seq_cst for the bells. */
	atomic_store(&control->request, generation);
	ring_bell_ring(&control->tail_bell);
	ring_bell_ring(&control->head_bell);
}

/* ---- Slots
 * ------------------------------------------------------------------------------------------------------------------
 */

static int check_slot(const struct ring *ring, const struct ring_slot *slot, uint64_t position,
		      struct error *err)
{
	if (slot->sequence != position)
		return error_set(err, -EBADMSG, "%s: slot %" PRIu64 " carries sequence %" PRIu64, ring->path,
				 position, slot->sequence);
	if (slot->kind < RING_DATA || slot->kind > RING_ERROR || slot->split >= SPLIT_MAX ||
	    slot->columns != ring->geometry.columns || slot->valid_rows > slot->rows)
		return error_set(err, -EBADMSG,
				 "%s: slot %" PRIu64 ": kind %u, split %u, %u columns, %u of %u rows",
				 ring->path, position, slot->kind, slot->split, slot->columns,
				 slot->valid_rows, slot->rows);
	for (uint32_t i = 0; i < ring->geometry.columns; i++) {
		const struct ring_column_spec *spec = &ring->geometry.column[i];

		if (slot->column[i].offset != ring->offset[i] || slot->column[i].bytes > spec->capacity ||
		    (uint64_t)slot->rows * spec->row_bytes > spec->capacity)
			return error_set(err, -EBADMSG,
					 "%s: slot %" PRIu64 ": column \"%s\" of %" PRIu64
					 " bytes and %u rows, at most %" PRIu64 " bytes",
					 ring->path, position, spec->name, slot->column[i].bytes, slot->rows,
					 spec->capacity);
	}
	return 0;
}

int ring_next(struct ring *ring, const struct ring_slot **ret_slot, struct error *err)
{
	struct ring_control *control = ring->control;

	for (;;) {
		/* acquire, pairs with W1 in ring_commit(): the slot is whole. */
		uint64_t head = atomic_load_explicit(&control->head, memory_order_acquire);
		const struct ring_slot *slot;
		int r;

		if (atomic_load_explicit(&ring->dead, memory_order_relaxed))
			return error_set(err, -EBADMSG, "%s: the file was cut under its reader", ring->path);
		if (atomic_load_explicit(&control->retired, memory_order_relaxed))
			return error_set(err, -EPIPE, "%s: retired, a new ring takes its place", ring->path);
		if (head == ring->position)
			return -EAGAIN;
		if (head - atomic_load_explicit(&ring->released, memory_order_relaxed) > ring->geometry.slots)
			return error_set(err, -EBADMSG, "%s: head %" PRIu64 " is wild at position %" PRIu64,
					 ring->path, head, ring->position);
		slot = ring_slot_at(ring, ring->position);
		r = check_slot(ring, slot, ring->position, err);
		if (r < 0)
			return r;
		ring->position++;
		if (slot->generation == ring->generation) {
			*ret_slot = slot;
			return 0;
		}
		ring_release(ring, slot);
	}
}

/* One slot further. read_at[] is whole before tail says so; one step at a time, so that a kill between leaves
 * the entry of the old tail untouched. An ERROR slot ends its generation: nobody may go on in it. */
static void step_tail(struct ring *ring, uint64_t tail)
{
	const struct ring_slot *slot = ring_slot_at(ring, tail);
	struct ring_place *place = &ring->control->read_at[(tail + 1) & 1];

	place->generation = slot->kind == RING_ERROR ? 0 : slot->generation;
	place->cursor = slot->cursor;
	/* R2: release, pairs with the acquire in ring_claim(): we are done with the bytes. seq_cst for the
	 * bell. */
	atomic_store(&ring->control->tail, tail + 1);
	atomic_store(&ring->released, tail + 1);
}

/* Move tail over the finished prefix. One thread does it; another that finishes meanwhile is seen by the
 * loop. */
static void advance(struct ring *ring)
{
	bool moved = false;

	while (atomic_exchange(&ring->releasing, 1) == 0) {
		uint64_t tail = atomic_load_explicit(&ring->released, memory_order_relaxed);

		/* acquire, pairs with D1 in ring_release(): that thread is done with the slot's bytes. */
		while (atomic_exchange_explicit(&ring->done[tail % ring->geometry.slots], 0,
						memory_order_acquire)) {
			step_tail(ring, tail++);
			moved = true;
		}
		atomic_store(&ring->releasing, 0);
		/* Finished between our last look and the unlock, by a thread that found the lock taken? */
		if (!atomic_load(&ring->done[tail % ring->geometry.slots]))
			break;
	}
	if (moved)
		ring_bell_ring(&ring->control->tail_bell);
}

void ring_release(struct ring *ring, const struct ring_slot *slot)
{
	uint64_t index = (uint64_t)((const uint8_t *)slot - ring->slots) / ring->slot_bytes;

	/* D1: release, pairs with the acquire in advance(). seq_cst so that one of two racing threads sees
	 * the other. */
	atomic_store(&ring->done[index], 1);
	advance(ring);
}

int ring_reader_wait(struct ring *ring, uint32_t timeout_ms)
{
	struct ring_control *control = ring->control;

	return ring_bell_wait(&control->head_bell, &control->head, ring->position, NULL, 0, timeout_ms);
}
