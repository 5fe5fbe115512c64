/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ring_shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Open ---- */

/* Checks the geometry. `control` is our copy of the control pages, so the peer cannot change it after the
 * check. */
static int check_geometry(struct ring *ring, const struct ring_control *control, struct error *err)
{
	struct ring_geometry *geometry = &ring->geometry;
	int r;

	if (control->magic != RING_MAGIC || control->version != RING_VERSION)
		return error_set(err, -EUCLEAN,
				 "%s: found magic %016" PRIx64 " version %u, expected a ring of version %u",
				 ring->path, control->magic, control->version, RING_VERSION);
	geometry->slots = control->slots;
	geometry->columns = control->columns;
	memcpy(geometry->column, control->column, sizeof(geometry->column));
	r = ring_geometry_check(ring->path, geometry, -EUCLEAN, err);
	if (r < 0)
		return r;
	ring_layout(geometry, &ring->slot_bytes, ring->offset);
	if (control->slot_bytes != ring->slot_bytes || control->file_bytes != ring->file_bytes ||
	    ring_bytes_in(ring->fd, ring_file_bytes(geometry)) != ring->file_bytes)
		return error_set(err, -EUCLEAN,
				 "%s: a file of %" PRIu64 " bytes, expected %" PRIu64 " by its header",
				 ring->path, ring->file_bytes, ring_file_bytes(geometry));
	return 0;
}

static int open_checked(struct ring *ring, const struct ring_control *control, struct error *err)
{
	uint64_t head, tail;
	int r;

	if ((r = check_geometry(ring, control, err)) < 0 || (r = ring_map(ring, err)) < 0)
		return r;
	/* relaxed: this is only a first check; the loads in ring_next() have the order that the data needs.
	 * Only readers store tail and request, and the earlier reader is dead. */
	tail = atomic_load_explicit(&ring->control->tail, memory_order_relaxed);
	ring->request = atomic_load_explicit(&ring->control->request, memory_order_relaxed);
	head = atomic_load_explicit(&ring->control->head, memory_order_relaxed);
	if (head - tail > ring->geometry.slots || ring->request > INT64_MAX)
		return error_set(err, -EUCLEAN,
				 "%s: head %" PRIu64 ", tail %" PRIu64 ", request %" PRIu64 " of %u slots",
				 ring->path, head, tail, ring->request, ring->geometry.slots);
	ring->position = tail;
	atomic_init(&ring->released, tail);
	ring->done = calloc(ring->geometry.slots, sizeof(*ring->done));
	ring->copy = calloc(ring->geometry.slots, ring->head_bytes);
	return ring->done && ring->copy ? 0 : error_set(err, -ENOMEM, "%s: no memory", ring->path);
}

int ring_open(const char *path, struct ring **ret_ring, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	CLEANUP(ring_closep) struct ring *ring = NULL;
	struct ring_control control;
	struct stat st;
	int r, locked;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, -errno, "%s: cannot open it: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EUCLEAN, "%s: not a file", path);
	locked = ring_lock(fd, RING_LOCK_READER);
	r = ring_control_read(path, fd, &control, err);
	if (r < 0)
		return r;
	/* X2: read `retired` after locking. A writer that retires the ring either waits for our lock, or has
	 * already stored `retired` before we read it. The writer holds the reader's lock while it makes the
	 * new ring. */
	if (control.magic == RING_MAGIC && control.retired)
		return error_set(err, -ESTALE, "%s: retired, a new ring replaces it", path);
	if (locked < 0)
		return error_set(err, locked, "%s: %s", path,
				 locked == -EBUSY ? "another reader holds it" : strerror(-locked));
	ring = ring_new(path, take_fd(&fd), false);
	if (!ring)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	ring->file_bytes = (uint64_t)st.st_size;
	r = open_checked(ring, &control, err);
	if (r == 0)
		*ret_ring = TAKE(ring);
	return r;
}

/* ---- Generations ---- */

/* V1: each word is stored with release, pairs with V2 in cursor_load(): a thread that sees a word of this
 * cursor also sees the request before this cursor. */
static void cursor_store(_Atomic uint64_t words[RING_CURSOR_WORDS], const struct cursor *cursor)
{
	uint64_t copy[RING_CURSOR_WORDS];

	memcpy(copy, cursor, sizeof(copy));
	for (size_t i = 0; i < RING_CURSOR_WORDS; i++)
		atomic_store_explicit(&words[i], copy[i], memory_order_release);
}

/* Tells whether the slot at tail is the one that follows `wanted`, in the newest generation. Returns false
 * while the reader holds slots, because tail is then smaller than the reader's position. */
static bool is_there(struct ring *ring, const struct cursor *wanted)
{
	/* P2: acquire, pairs with P1 in step_tail(): read_at[] is whole. */
	uint64_t tail = atomic_load_explicit(&ring->released, memory_order_acquire);
	const struct ring_resume *last = &ring->control->read_at[tail & 1];

	return ring->request != 0 && ring->position == tail && last->generation == ring->request &&
	       !last->closed && memcmp(&last->cursor, wanted, sizeof(*wanted)) == 0;
}

void ring_attach(struct ring *ring, const struct cursor *wanted)
{
	struct ring_control *control = ring->control;

	if (!is_there(ring, wanted)) {
		ring->request++;
		cursor_store(control->wanted[ring->request & 1], wanted);
		/* Q1: release, pairs with Q2 in ring_request(): wanted[] is whole; seq_cst, pairs with B2 in
		 * ring_bell_wait(). */
		atomic_store_explicit(&control->request, ring->request, memory_order_seq_cst);
	}
	ring->generation = ring->request;
	ring_bell_wake(&control->tail_bell);
	ring_bell_wake(&control->head_bell);
}

/* ---- Slots ---- */

/* Checks the header of a slot. `slot` is our copy, which the writer cannot change. */
static int check_slot(const struct ring *ring, const struct ring_slot *slot, uint64_t position,
		      struct error *err)
{
	if (slot->sequence != position)
		return error_set(err, -EUCLEAN, "%s: slot %" PRIu64 " carries sequence %" PRIu64, ring->path,
				 position, slot->sequence);
	if (slot->kind < RING_DATA || slot->kind > RING_ERROR || slot->split >= SPLIT_MAX ||
	    slot->columns != ring->geometry.columns || slot->valid_rows > slot->rows)
		return error_set(err, -EUCLEAN,
				 "%s: slot %" PRIu64 ": kind %u, split %u, %u columns, %u of %u rows",
				 ring->path, position, slot->kind, slot->split, slot->columns,
				 slot->valid_rows, slot->rows);
	if (slot->cursor.version != CURSOR_VERSION || slot->cursor.split >= SPLIT_MAX ||
	    slot->cursor.places > CURSOR_PLACES_MAX)
		return error_set(
			err, -EUCLEAN, "%s: slot %" PRIu64 ": a cursor of version %u, split %u, %u places",
			ring->path, position, slot->cursor.version, slot->cursor.split, slot->cursor.places);
	for (uint32_t i = 0; i < ring->geometry.columns; i++) {
		const struct ring_column_spec *spec = &ring->geometry.column[i];
		const struct ring_column *column = &slot->column[i];

		if (column->dtype != spec->dtype || column->offset != ring->offset[i] ||
		    column->capacity != spec->capacity || column->bytes > spec->capacity ||
		    (uint64_t)slot->rows * spec->row_bytes > spec->capacity)
			return error_set(err, -EUCLEAN,
					 "%s: slot %" PRIu64 ": column \"%s\" of %" PRIu64
					 " bytes and %u rows, at most %" PRIu64 " bytes",
					 ring->path, position, spec->name, column->bytes, slot->rows,
					 spec->capacity);
	}
	return 0;
}

/* Copies the header of the next slot to memory that the writer cannot change, then checks the copy. */
static int copy_slot(struct ring *ring, struct ring_slot **ret_slot, struct error *err)
{
	struct ring_slot *slot = ring_copy_at(ring, ring->position % ring->geometry.slots);
	int r;

	memcpy(slot, ring_slot_at(ring, ring->position),
	       offsetof(struct ring_slot, column) + ring->geometry.columns * sizeof(slot->column[0]));
	if (!ring_intact(ring))
		return error_set(err, -EUCLEAN, "%s: the file was cut short while it was read", ring->path);
	r = check_slot(ring, slot, ring->position, err);
	if (r < 0)
		return r;
	ring->position++;
	*ret_slot = slot;
	return 0;
}

int ring_next(struct ring *ring, const struct ring_slot **ret_slot, struct error *err)
{
	struct ring_control *control = ring->control;

	for (;;) {
		/* H2: acquire, pairs with H1 in ring_commit(): the slot is whole. */
		uint64_t head = atomic_load_explicit(&control->head, memory_order_acquire);
		/* P2: relaxed is enough after the load of head: a correct writer published this head only
		 * after it saw the release. */
		uint64_t held = ring->position - atomic_load_explicit(&ring->released, memory_order_relaxed);
		struct ring_slot *slot = NULL;
		int r;

		/* X2: acquire, pairs with X1 in retire(). */
		bool retired = atomic_load_explicit(&control->retired, memory_order_acquire) != 0;

		if (!ring_intact(ring))
			return error_set(err, -EUCLEAN, "%s: the file was cut short while it was read",
					 ring->path);
		if (retired)
			return error_set(err, -EPIPE, "%s: retired, a new ring replaces it", ring->path);
		if (head == ring->position)
			return -EAGAIN;
		/* The counters may wrap around, so compare only their difference. `slots` is our checked
		 * copy. */
		if (head - ring->position > ring->geometry.slots - held)
			return error_set(err, -EUCLEAN,
					 "%s: head %" PRIu64 " is out of range at position %" PRIu64,
					 ring->path, head, ring->position);
		r = copy_slot(ring, &slot, err);
		if (r < 0)
			return r;
		if (slot->generation == ring->generation) {
			*ret_slot = slot;
			return 0;
		}
		ring_release(ring, slot);
	}
}

/* Moves tail by one slot. Before that, stores the position after the slot in read_at[], for this program's
 * next start. */
static void step_tail(struct ring *ring, uint64_t tail)
{
	const struct ring_slot *slot = ring_copy_at(ring, tail % ring->geometry.slots);
	struct ring_resume *resume = &ring->control->read_at[(tail + 1) & 1];

	resume->generation = slot->generation;
	resume->closed = slot->kind == RING_ERROR;
	resume->cursor = slot->cursor;
	/* P1: release, pairs with P2: read_at[] is whole. Store it before tail: the writer uses this slot
	 * again only after it has seen the new tail (T1, T2), and publishes the slot after that (H1, H2). So
	 * a thread that sees the new head also sees `released`. */
	atomic_store_explicit(&ring->released, tail + 1, memory_order_release);
	/* T1: release, pairs with T2 in ring_claim(): the reader is done with the bytes of the slot; seq_cst,
	 * pairs with B2 in ring_bell_wait(). */
	atomic_store_explicit(&ring->control->tail, tail + 1, memory_order_seq_cst);
}

/* Moves tail over all released slots that follow it. Only one thread at a time does this; its loop also
 * handles the slots that other threads release meanwhile. */
static void advance(struct ring *ring)
{
	const uint32_t slots = ring->geometry.slots;
	bool moved = false;

	/* L2: acquire, pairs with L1: this thread sees all changes of tail by the last thread. seq_cst,
	 * together with D1 and the last load of this loop: where a thread finds the lock held, the thread
	 * that holds it sees the slot of the other thread. */
	while (atomic_exchange_explicit(&ring->releasing, 1, memory_order_seq_cst) == 0) {
		/* relaxed: only the thread that holds this lock stores `released`. */
		uint64_t tail = atomic_load_explicit(&ring->released, memory_order_relaxed);

		/* D2: acquire, pairs with D1 in ring_release(): the releasing thread is done with the bytes
		 * of the slot. */
		while (atomic_exchange_explicit(&ring->done[tail % slots], 0, memory_order_acquire)) {
			step_tail(ring, tail++);
			moved = true;
		}
		/* L1: release, pairs with L2; seq_cst for the reason given at L2. */
		atomic_store_explicit(&ring->releasing, 0, memory_order_seq_cst);
		/* seq_cst: check again, because a thread that found the lock held may have released a slot
		 * after D2. */
		if (!atomic_load_explicit(&ring->done[tail % slots], memory_order_seq_cst))
			break;
	}
	if (moved)
		ring_bell_ring(&ring->control->tail_bell);
}

void ring_release(struct ring *ring, const struct ring_slot *slot)
{
	/* D1: release, pairs with D2 in advance(): the caller is done with the bytes of the slot; seq_cst for
	 * the reason given at L2. */
	atomic_store_explicit(&ring->done[ring_copy_index(ring, slot)], 1, memory_order_seq_cst);
	advance(ring);
}

int ring_reader_wait(struct ring *ring, uint32_t timeout_ms)
{
	struct ring_control *control = ring->control;

	return ring_bell_wait(&control->head_bell, &control->head, ring->position, NULL, 0, timeout_ms);
}
