/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ring_shared.h"

#include <stddef.h>
#include <string.h>

/* ---- Generations ---- */

/* V2: each word is loaded with acquire, pairs with V1 in cursor_store(): a thread that sees a word of a newer
 * cursor also sees the request before that cursor. */
static void cursor_load(const _Atomic uint64_t words[RING_CURSOR_WORDS], struct cursor *ret_cursor)
{
	uint64_t copy[RING_CURSOR_WORDS];

	for (size_t i = 0; i < RING_CURSOR_WORDS; i++)
		copy[i] = atomic_load_explicit(&words[i], memory_order_acquire);
	memcpy(ret_cursor, copy, sizeof(*ret_cursor));
}

uint64_t ring_request(struct ring *ring, struct cursor *ret_from, bool *ret_closed)
{
	struct ring_control *control = ring->control;
	const struct ring_resume *last = &control->cur[ring->position & 1];
	uint64_t request;

	/* Copy again where the reader made a newer request during the copy, because it may have overwritten
	 * wanted[]. */
	do {
		/* Q2: acquire, pairs with Q1 in ring_attach(): wanted[request & 1] is whole. */
		request = atomic_load_explicit(&control->request, memory_order_acquire);
		cursor_load(control->wanted[request & 1], ret_from);
		/* relaxed: the acquires above order this load after the copy. */
	} while (atomic_load_explicit(&control->request, memory_order_relaxed) != request);
	*ret_closed = false;
	ring->seen_request = request;
	/* relaxed: only writers store ack and cur[], and the earlier writer is dead. */
	if (request != 0 && ring->position > 0 &&
	    atomic_load_explicit(&control->ack, memory_order_relaxed) == request &&
	    last->generation == request) {
		*ret_from = last->cursor;
		*ret_closed = last->closed != 0;
	}
	return request;
}

void ring_begin(struct ring *ring, uint64_t generation)
{
	ring_unclaim(ring);
	ring->generation = generation;
	/* relaxed: only a restarted writer reads it. */
	atomic_store_explicit(&ring->control->ack, generation, memory_order_relaxed);
}

/* ---- Slots ---- */

int ring_claim(struct ring *ring, struct ring_slot **ret_slot)
{
	/* T2: acquire, pairs with T1 in step_tail(): the reader is done with the slot's bytes. */
	uint64_t tail = atomic_load_explicit(&ring->control->tail, memory_order_acquire);
	struct ring_slot *slot;

	/* The counters may wrap around, so compare only differences: tail <= position <= claimed <= tail +
	 * slots. */
	if (!ring_intact(ring) || ring->position - tail > ring->geometry.slots ||
	    ring->claimed - tail > ring->geometry.slots)
		return -EUCLEAN;
	ring->seen_tail = tail;
	if (ring->claimed - tail == ring->geometry.slots)
		return -EAGAIN;
	slot = ring_slot_at(ring, ring->claimed++);
	memset(slot, 0,
	       offsetof(struct ring_slot, column) + ring->geometry.columns * sizeof(struct ring_column));
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
	struct ring_resume *resume = &control->cur[next & 1];

	slot->sequence = ring->position;
	slot->generation = ring->generation;
	slot->columns = ring->geometry.columns;
	for (uint32_t i = 0; i < ring->geometry.columns; i++) {
		slot->column[i].dtype = ring->geometry.column[i].dtype;
		slot->column[i].offset = ring->offset[i];
		slot->column[i].capacity = ring->geometry.column[i].capacity;
	}
	resume->generation = ring->generation;
	resume->closed = slot->kind == RING_ERROR;
	resume->cursor = slot->cursor;
	ring->position = next;
	/* H1: release, pairs with H2 in ring_next(): slot and cur[] are whole; seq_cst, pairs with B2 in
	 * ring_bell_wait(). */
	atomic_store_explicit(&control->head, next, memory_order_seq_cst);
	ring_bell_ring(&control->head_bell);
}

bool ring_reader_waits(const struct ring *ring)
{
	/* relaxed: for statistics only. */
	return atomic_load_explicit(&ring->control->head_bell.waits, memory_order_relaxed);
}

int ring_writer_wait(struct ring *ring, uint32_t timeout_ms)
{
	struct ring_control *control = ring->control;
	int r = ring_bell_wait(&control->tail_bell, &control->tail, ring->seen_tail, &control->request,
			       ring->seen_request, timeout_ms);

	/* Update seen_tail even where ring_claim() is not called because the generation has ended: otherwise
	 * the next wait would return at once. relaxed: ring_claim() loads tail again before it uses the
	 * value. */
	ring->seen_tail = atomic_load_explicit(&control->tail, memory_order_relaxed);
	return r;
}
