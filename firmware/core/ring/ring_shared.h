/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in the ring's file, and what both sides do alike. For core/ring_*.c and their tests only.
 *
 * The file: the control pages, then `slots` slots of `slot_bytes`. W marks what the writer stores, R what the
 * reader stores. Nothing is ever reset while a file lives. cur[] and read_at[] are notes to one's own next
 * life: whole before the counter that selects them, so a kill between the two leaves the entry in use
 * untouched.
 *
 * The pairs, named where they are used:
 *   H1 ring_commit()  stores head     H2 ring_next() loads it:       slot and header are whole
 *   T1 step_tail()    stores tail     T2 ring_claim() loads it:      the reader is done with the slot
 *   Q1 ring_attach()  stores request  Q2 ring_request() loads it:    wanted[request & 1] is whole
 *   V1 cursor_store() stores a word   V2 cursor_load() loads it:     a newer wish shows in request
 *   D1 ring_release() stores done     D2 advance() takes it:         that thread is done with the slot
 *   P1 step_tail()    stores released P2 ring_next() loads it:       read_at[] is whole
 *   L1 advance()      unlocks         L2 advance() locks:            the lock on tail
 *   B1 a publisher tests `waits`      B2 the sleeper sets it:        one of the two sees the other
 *   X1 retire()       stores retired  X2 the reader loads it
 *   G1 on_sigbus()    stores dead     G2 ring_intact() loads it
 */
#pragma once

#include "core/ring/ring.h"

#include <stdatomic.h>

#define RING_CONTROL_BYTES ((size_t)3 * 4096)
#define RING_SPIN_US       20u
#define RING_WAIT_MAX_MS   1000u
#define RING_GUARDS_MAX    64u
#define RING_NO_GUARD      (-1)

enum ring_lock_byte { RING_LOCK_WRITER, RING_LOCK_READER };

/* A word to sleep on. */
struct ring_bell {
	_Atomic uint32_t rings;
	_Atomic uint32_t waits; /* the sleeper's flag */
};

struct ring_resume {
	uint64_t generation; /* 0: nobody may go on from here */
	uint64_t closed;     /* the generation ended here with ERROR */
	struct cursor cursor;
};

#define RING_CURSOR_WORDS (CURSOR_BYTES / sizeof(uint64_t))

struct ring_control {
	uint64_t magic;
	uint32_t version, slots, columns, reserved;
	uint64_t slot_bytes, file_bytes;
	_Atomic uint32_t retired; /* W: a new file takes this one's place */

	_Alignas(64) _Atomic uint64_t head;                         /* W: slots ever published */
	struct ring_bell head_bell;                                 /* the reader sleeps here */
	_Alignas(64) _Atomic uint64_t tail;                         /* R: slots ever released */
	struct ring_bell tail_bell;                                 /* the writer sleeps here */
	_Alignas(64) _Atomic uint64_t request;                      /* R: the generation asked for */
	_Alignas(64) _Atomic uint64_t ack;                          /* W: the generation being written */
	_Alignas(64) _Atomic uint64_t wanted[2][RING_CURSOR_WORDS]; /* R: by request & 1 */
	struct ring_resume cur[2];     /* W: cur[head & 1] is the place behind the last published slot */
	struct ring_resume read_at[2]; /* R: read_at[tail & 1] is the place behind the last released slot */
	_Alignas(64) struct ring_column_spec column[RING_COLUMNS_MAX];
};
static_assert(sizeof(struct ring_control) <= RING_CONTROL_BYTES, "the control block fits its pages");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would not be shared with the peer");

struct ring {
	int fd;
	bool writer;
	enum ring_pages pages;
	int guard; /* ring_guard.c, or RING_NO_GUARD */
	struct ring_control *control;
	uint8_t *slots;
	struct ring_geometry geometry; /* our copy, checked: the peer cannot change it */
	uint64_t slot_bytes, file_bytes;
	uint64_t offset[RING_COLUMNS_MAX];
	uint64_t position;          /* writer: head; reader: next position to hand out */
	uint64_t generation;        /* both: the one we write or accept */
	uint64_t seen_tail;         /* writer: tail at the last claim */
	uint64_t seen_request;      /* writer: request at the last ring_request() */
	uint64_t claimed;           /* writer: position behind the last claim */
	uint64_t request;           /* reader: our copy of request */
	struct ring_slot *copy;     /* reader: headers of the slots handed out, by slot index */
	_Atomic uint8_t *done;      /* reader: slots finished out of order, by slot index */
	_Atomic uint64_t released;  /* reader: our copy of tail */
	_Atomic uint32_t releasing; /* reader: one thread moves tail at a time */
	char path[];
};

/* ring_map.c */
void ring_layout(const struct ring_geometry *geometry, uint64_t *ret_slot_bytes,
		 uint64_t offset[RING_COLUMNS_MAX]);
/* Every number within its bounds, so that sizes made of them cannot overflow; `code` on a mistake. */
MUST_CHECK int ring_geometry_check(const char *path, const struct ring_geometry *geometry, int code,
				   struct error *err);
/* What a file of `bytes` has on the file system where it lies: on pages of more than 2 MiB, whole ones. */
uint64_t ring_bytes_in(int fd, uint64_t bytes);
MUST_CHECK int ring_lock(int fd, enum ring_lock_byte byte);
/* The first pages of a file, copied so that the peer cannot change them. -EUCLEAN when it has fewer. */
MUST_CHECK int ring_control_read(const char *path, int fd, struct ring_control *ret_control,
				 struct error *err);
/* Map file_bytes of the ring's file, guarded. The geometry is set. */
MUST_CHECK int ring_map(struct ring *ring, struct error *err);
/* Owns `fd` from here on, also where it fails: NULL for want of memory. */
struct ring *ring_new(const char *path, int fd, bool writer);

static inline struct ring_slot *ring_slot_at(const struct ring *ring, uint64_t position)
{
	return (struct ring_slot *)(void *)(ring->slots + position % ring->geometry.slots * ring->slot_bytes);
}

/* ring_guard.c: memory that a SIGBUS may hit. At most RING_GUARDS_MAX at once. */
MUST_CHECK int ring_guard_add(void *memory, uint64_t bytes);
void ring_guard_drop(int guard); /* before the memory is unmapped; accepts RING_NO_GUARD */
bool ring_guard_dead(int guard);

/* ring_wait.c: ring a bell after the store it announces, if somebody sleeps there; wake whoever sleeps in any
 * case; sleep while `value` still holds `seen` and, when `value2` is given, it holds `seen2`. */
void ring_bell_ring(struct ring_bell *bell);
void ring_bell_wake(struct ring_bell *bell);
int ring_bell_wait(struct ring_bell *bell, const _Atomic uint64_t *value, uint64_t seen,
		   const _Atomic uint64_t *value2, uint64_t seen2, uint32_t timeout_ms);
