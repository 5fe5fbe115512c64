/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of the ring's file, and what both sides share. Private to core/ring and its tests.
 *
 * The file: the control pages, then `slots` slots of `slot_bytes`. W marks a member that the writer stores, R
 * one that the reader stores. No counter is ever reset while the file exists.
 *
 * Why a restart of the reader works. A trainer that starts again may want to continue from an older position,
 * the position of its checkpoint. At this time the ring is full of newer batches, and the writer fetches even
 * newer ones. The ring need not be emptied for this. The reader stores the wanted cursor, then raises
 * `request`: this is a new generation. Every slot carries the generation that it was written for, so the
 * reader releases slots of older generations unread, and the writer starts the new generation when it looks
 * at `request` next. After an orderly stop the position of the checkpoint is the position after the last
 * released batch, which read_at[] stores. So the reader first compares read_at[] with `wanted`. Where they
 * are equal, it uses the batches that wait in the ring.
 *
 * Why a restart of the writer works. Slots that the old writer had not published are lost, but no reader has
 * seen them. A new writer continues at head, and must know which batch comes next. cur[] stores this: the
 * cursor after the last published slot. Where cur[] belongs to the requested generation, the writer continues
 * from cur[], so that no batch comes twice; otherwise it starts the generation from `wanted`. The writer also
 * restores `closed` from cur[]: a generation that ended with ERROR gets no further slot.
 *
 * Why cur[], read_at[] and wanted[] have two entries. Each entry has more bytes than one atomic store can
 * write. The counter's lowest bit selects the entry that is valid: head for cur[], tail for read_at[],
 * request for wanted[]. A new value is written to the other entry, and the counter is stored after that.
 * Where the process is killed in between, the old counter still selects the old, complete entry.
 *
 * The pairs of atomic operations, named where they are used:
 *   H1 ring_commit()  stores head     H2 ring_next() loads it:       slot and header are whole
 *   T1 step_tail()    stores tail     T2 ring_claim() loads it:      the reader is done with the slot
 *   Q1 ring_attach()  stores request  Q2 ring_request() loads it:    wanted[request & 1] is whole
 *   V1 cursor_store() stores a word   V2 cursor_load() loads it:     a newer cursor shows in request
 *   D1 ring_release() stores done     D2 advance() clears it:        that thread is done with the slot
 *   P1 step_tail()    stores released P2 ring_next() loads it:       read_at[] is whole
 *   L1 advance()      unlocks         L2 advance() locks:            the lock on tail
 *   B1 a publisher tests `waits`      B2 the sleeper sets it:        one of the two sees the other
 *   X1 retire()       stores retired  X2 the reader loads it
 *   G1 on_sigbus()    stores dead     G2 ring_intact() loads it
 */
#pragma once

#include "core/ring/ring.h"

#include <stdatomic.h>

#define RING_CONTROL_BYTES ((size_t)43 * 4096)
#define RING_SPIN_US       20u
#define RING_WAIT_MAX_MS   1000u
#define RING_GUARDS_MAX    64u
#define RING_NO_GUARD      (-1)

enum ring_lock_byte { RING_LOCK_WRITER, RING_LOCK_READER };

/* Lets one side sleep until the other side wakes it; built on a futex. */
struct ring_bell {
	_Atomic uint32_t rings;
	_Atomic uint32_t waits; /* 1: the sleeper sleeps or is about to sleep */
};

/* A position that is stored so that a process can continue from it after a restart. */
struct ring_resume {
	uint64_t generation; /* generation to which the cursor belongs; 0: the entry was never written */
	uint64_t closed;     /* 1: the generation ended with an ERROR slot at this position */
	struct cursor cursor;
};

#define RING_CURSOR_WORDS (CURSOR_BYTES / sizeof(uint64_t))

struct ring_control {
	uint64_t magic;
	uint32_t version, slots, columns, reserved;
	uint64_t slot_bytes, file_bytes;
	_Atomic uint32_t retired; /* W: 1: a new file replaces this one */

	_Alignas(64) _Atomic uint64_t head;    /* W: slots published since the file was made */
	struct ring_bell head_bell;            /* for the reader's sleep */
	_Alignas(64) _Atomic uint64_t tail;    /* R: slots released since the file was made */
	struct ring_bell tail_bell;            /* for the writer's sleep */
	_Alignas(64) _Atomic uint64_t request; /* R: the generation that the reader requested last */
	_Alignas(64) _Atomic uint64_t ack;     /* W: the generation that the writer is writing */
	_Alignas(64) _Atomic uint64_t wanted[2][RING_CURSOR_WORDS]; /* R: valid: wanted[request & 1] */
	struct ring_resume cur[2];     /* W: cur[head & 1]: the position after the last published slot */
	struct ring_resume read_at[2]; /* R: read_at[tail & 1]: the position after the last released slot */
	_Alignas(64) struct ring_column_spec column[RING_COLUMNS_MAX];
};
static_assert(sizeof(struct ring_control) <= RING_CONTROL_BYTES, "the control block fits its pages");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would not be shared with the peer");

struct ring {
	int fd;
	bool writer;
	enum ring_pages pages;
	int guard; /* index of the entry in the table of ring_guard.c, or RING_NO_GUARD */
	struct ring_control *control;
	uint8_t *slots;
	struct ring_geometry geometry;               /* our checked copy, which the peer cannot change */
	uint64_t head_bytes, slot_bytes, file_bytes; /* head_bytes: of a slot's head */
	uint64_t offset[RING_COLUMNS_MAX];
	uint64_t position;     /* writer: head; reader: position of the next slot to return */
	uint64_t generation;   /* writer: generation of the slots that it commits; reader: generation of the
				  slots that it accepts */
	uint64_t seen_tail;    /* writer: tail at the last claim */
	uint64_t seen_request; /* writer: request at the last ring_request() */
	uint64_t claimed;      /* writer: position after the last claimed slot */
	uint64_t request;      /* reader: our copy of request */
	uint8_t *copy;         /* reader: copies of the heads of held slots: ring_copy_at() */
	_Atomic uint8_t *done; /* reader: slots released but not yet passed by tail, by slot index */
	_Atomic uint64_t released;  /* reader: our copy of tail */
	_Atomic uint32_t releasing; /* reader: the lock of advance(); 1: a thread moves tail */
	char path[];
};

/* ring_map.c */
/* Returns the bytes of a slot's head, in whole pages. */
uint64_t ring_head_bytes(const struct ring_geometry *geometry);
void ring_layout(const struct ring_geometry *geometry, uint64_t *ret_slot_bytes,
		 uint64_t offset[RING_COLUMNS_MAX]);
/* Checks that every number of the geometry is within its bounds, so that sizes computed from them cannot
 * overflow. Returns the error `code` where one is not. */
MUST_CHECK int ring_geometry_check(const char *path, const struct ring_geometry *geometry, int code,
				   struct error *err);
/* Returns the size that a file of `bytes` bytes has on its file system: rounded up to whole pages where the
 * file system has pages larger than 2 MiB. */
uint64_t ring_bytes_in(int fd, uint64_t bytes);
MUST_CHECK int ring_lock(int fd, enum ring_lock_byte byte);
/* Copies the control pages of a file, so that the peer cannot change the copy. Errors: -EUCLEAN the file is
 * shorter than the control pages. */
MUST_CHECK int ring_control_read(const char *path, int fd, struct ring_control *ret_control,
				 struct error *err);
/* Maps ring->file_bytes bytes of the ring's file and guards the memory by ring_guard_add(). ring->geometry
 * must be set. */
MUST_CHECK int ring_map(struct ring *ring, struct error *err);
/* Allocates a struct ring. Owns: `fd` belongs to the ring from now on; the function closes it where it fails.
 * NULL: no memory. */
struct ring *ring_new(const char *path, int fd, bool writer);

static inline struct ring_slot *ring_slot_at(const struct ring *ring, uint64_t position)
{
	return (struct ring_slot *)(void *)(ring->slots + position % ring->geometry.slots * ring->slot_bytes);
}

/* Returns the reader's copy of the head of a slot, by slot index. */
static inline struct ring_slot *ring_copy_at(const struct ring *ring, uint64_t index)
{
	return (struct ring_slot *)(void *)(ring->copy + index * ring->head_bytes);
}

/* Returns the index of a slot of which the reader has `slot`, a copy of the head. */
static inline uint64_t ring_copy_index(const struct ring *ring, const struct ring_slot *slot)
{
	return (uint64_t)((const uint8_t *)slot - ring->copy) / ring->head_bytes;
}

/* ring_guard.c: guards memory whose access may raise SIGBUS. At most RING_GUARDS_MAX memories can be guarded
 * at a time. */
MUST_CHECK int ring_guard_add(void *memory, uint64_t bytes);
void ring_guard_drop(int guard); /* call it before the memory is unmapped; accepts RING_NO_GUARD */
bool ring_guard_dead(int guard);

/* ring_wait.c. Call ring_bell_ring() after the store that the sleeper waits for: it wakes a sleeper if there
 * is one. ring_bell_wake() always makes the system call. ring_bell_wait() sleeps while `value` is equal to
 * `seen` and, unless `value2` is NULL, `value2` is equal to `seen2`. */
void ring_bell_ring(struct ring_bell *bell);
void ring_bell_wake(struct ring_bell *bell);
int ring_bell_wait(struct ring_bell *bell, const _Atomic uint64_t *value, uint64_t seen,
		   const _Atomic uint64_t *value2, uint64_t seen2, uint32_t timeout_ms);
