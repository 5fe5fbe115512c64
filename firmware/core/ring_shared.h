/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in the ring's file, and what both sides do alike. For core/ring*.c only.
 *
 * The file: the control page(s), then `slots` slots of `slot_bytes`. One writer stores head, cur[], ack,
 * writer_waits; one reader stores tail, wanted[], request, reader_waits. Nothing is ever reset while a file
 * lives.
 *
 * Sleeping: a sleeper sets its flag, then re-checks what it waits for; a publisher stores, then tests the
 * flag. Both pairs are sequentially consistent on both words, so that at least one of the two sees the other.
 */
#pragma once

#include "core/ring.h"

#include <stdatomic.h>

#define RING_CONTROL_BYTES ((size_t)3 * 4096)
#define RING_SPIN_US       20u
#define RING_WAIT_MAX_MS   1000u

enum ring_lock_byte { RING_LOCK_WRITER, RING_LOCK_READER };

/* A word to sleep on. */
struct ring_bell {
	_Atomic uint32_t rings;
	_Atomic uint32_t waits; /* the sleeper's flag */
};

struct ring_place {
	uint64_t generation;
	struct cursor cursor;
};

struct ring_control {
	uint64_t magic;
	uint32_t version, slots, columns, reserved;
	uint64_t slot_bytes, file_bytes;
	_Atomic uint32_t retired; /* W: a new file takes this one's place */

	_Alignas(64) _Atomic uint64_t head; /* W: slots ever published */
	struct ring_bell head_bell;         /* the reader sleeps here */
	_Alignas(64) _Atomic uint64_t tail; /* R: slots ever released */
	struct ring_bell tail_bell;         /* the writer sleeps here */
	_Alignas(64) _Atomic uint64_t
		request; /* R: the generation asked for; wanted[request & 1] is then whole */
	_Alignas(64) _Atomic uint64_t ack; /* W: the generation being written */
	_Alignas(64) struct cursor wanted[2];
	struct ring_place cur[2];     /* W: cur[head & 1] describes the last published slot */
	struct ring_place read_at[2]; /* R: read_at[tail & 1] describes the last released slot; generation 0 =
					 unknown */
	_Alignas(64) struct ring_column_spec column[RING_COLUMNS_MAX];
};
static_assert(sizeof(struct ring_control) <= RING_CONTROL_BYTES, "the control block fits its pages");

struct ring {
	int fd;
	bool writer;
	enum ring_pages pages;
	struct ring_control *control;
	uint8_t *slots;
	struct ring_geometry geometry; /* our copy, checked: the peer cannot change it */
	uint64_t slot_bytes, file_bytes;
	uint64_t offset[RING_COLUMNS_MAX];
	uint64_t position;          /* writer: head; reader: next position to hand out */
	uint64_t seen_tail;         /* writer: tail at the last claim */
	uint64_t claimed;           /* writer: position behind the last claim */
	uint64_t generation;        /* both: the one we write or accept */
	_Atomic uint8_t *done;      /* reader: slots finished out of order, by slot index */
	_Atomic uint64_t released;  /* reader: our copy of tail */
	_Atomic uint32_t releasing; /* reader: one thread moves tail at a time */
	struct ring *next_guarded;  /* ring_map.c: rings that a SIGBUS may hit */
	_Atomic uint32_t dead;      /* the peer cut the file under us */
	char path[];
};

/* ring_map.c */
void ring_layout(const struct ring_geometry *geometry, uint64_t *ret_slot_bytes,
		 uint64_t offset[RING_COLUMNS_MAX]);
MUST_CHECK int ring_lock(int fd, enum ring_lock_byte byte);
MUST_CHECK int ring_map(struct ring *ring, struct error *err);
struct ring *ring_new(const char *path, int fd, bool writer);

static inline struct ring_slot *ring_slot_at(const struct ring *ring, uint64_t position)
{
	return (struct ring_slot *)(void *)(ring->slots + position % ring->geometry.slots * ring->slot_bytes);
}

/* ring_wait.c: ring a bell after the store it announces; sleep while `value` still holds `seen` and, when
 * `value2` is given, it holds `seen2`. */
void ring_bell_ring(struct ring_bell *bell);
int ring_bell_wait(struct ring_bell *bell, const _Atomic uint64_t *value, uint64_t seen,
		   const _Atomic uint64_t *value2, uint64_t seen2, uint32_t timeout_ms);
