/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-producer, single-consumer ring of fixed-size slots in hugepage memory, one batch a slot.
 * One writer process, one reader process; either may die at any instruction and come back: nothing is lost,
 * repeated or torn. The peer's memory is input: every index and size is checked, a wrong one is -EUCLEAN,
 * never a crash. That says nothing about the data: both sides start anew, and the writer makes a new ring in
 * the place of one it cannot use.
 *
 * Writer: ring_create -> (ring_request -> ring_begin -> (ring_claim, fill, ring_commit)*)* -> ring_close
 * Reader: ring_open -> ring_attach -> (ring_next, use, ring_release)* -> ring_close
 *
 * head and tail are 64-bit, monotonic, never reset; only the writer stores head, only the reader tail. Decode
 * threads may fill claimed slots in any order; one thread, the committer, publishes singly and in order.
 * Cost: claim, commit, next and release are O(1), without a system call while the other side is awake.
 * Threads: writer calls come from one thread, reader calls from one thread; ring_release(), ring_intact() and
 * the calls on slots from any.
 *
 * A file cut short under its mapping would be a SIGBUS. Opening a ring installs a handler which puts zero
 * pages under such a ring and marks it dead; a SIGBUS elsewhere goes to the handler that was there
 * before.
 */
#pragma once

#include "core/base/error.h"
#include "core/ring/cursor.h"

#include <stdbool.h>
#include <stddef.h>

#define RING_MAGIC        UINT64_C(0x31474e494e4c494b) /* "KILNING1" */
#define RING_VERSION      1u
#define RING_COLUMNS_MAX  64u
#define RING_SLOTS_MAX    4096u
#define RING_COLUMN_ALIGN 4096u
#define RING_NAME_MAX     64u
#define RING_ERROR_TEXT   512u
#define RING_ERROR_KEY    1032u

enum ring_kind { RING_DATA = 1, RING_END_SEGMENT, RING_END_RUN, RING_ERROR };
enum ring_dtype { RING_FLOAT32 = 1, RING_INT64, RING_UINT8 };

/* A column as the schema fixes it. A ragged feature is two columns: NAME/splits (int64) and NAME/values. */
struct ring_column_spec {
	char name[RING_NAME_MAX];
	uint32_t dtype;     /* enum ring_dtype */
	uint32_t row_bytes; /* bytes of one row; 0 for the values of a ragged column */
	uint64_t capacity;  /* bytes reserved in every slot */
};

struct ring_geometry {
	uint32_t slots;
	uint32_t columns;
	struct ring_column_spec column[RING_COLUMNS_MAX];
};

/* A column in one slot; the offset counts from the start of the slot. */
struct ring_column {
	uint32_t dtype, reserved;
	uint64_t offset, bytes, capacity;
};
static_assert(sizeof(struct ring_column) == 32, "directory entries are 32 bytes");

/* The first page of a slot: this header, then the cursor after the slot, then the column directory. Columns
 * follow at multiples of RING_COLUMN_ALIGN. END_SEGMENT uses the totals; ERROR has its record in the first
 * column area. */
struct ring_slot {
	uint64_t sequence; /* equals the ring position it was published at */
	uint64_t generation;
	uint32_t kind;       /* enum ring_kind */
	uint32_t split;      /* enum split */
	uint32_t rows;       /* rows in the columns: of several ranks that share the lanes, this rank's own */
	uint32_t valid_rows; /* rows that are not empty (skipped records and ended lanes leave empty ones) */
	uint64_t segment;    /* k-th segment of this split */
	uint64_t batch;      /* index of this batch in its segment */
	uint64_t total_batches, total_rows,
		total_skipped; /* END_SEGMENT: of the segment; skipped: of the run so far */
	uint32_t columns;
	int32_t error_code; /* ERROR: negative errno */
	uint64_t first_row; /* index in the segment of the global batch's first row: dropout's counter */
	uint8_t reserved[40];
	struct cursor cursor; /* the place after this slot */
	struct ring_column column[RING_COLUMNS_MAX];
};
static_assert(offsetof(struct ring_slot, cursor) == 128, "the slot header is 128 bytes");
static_assert(sizeof(struct ring_slot) <= 4096, "header, cursor and directory fit the first page");

/* What an ERROR slot carries behind its first page. */
struct ring_error {
	char text[RING_ERROR_TEXT];
	char key[RING_ERROR_KEY]; /* object key, "" when none */
	uint64_t offset;          /* byte in the object */
};

/* A record that was left out by policy, or what follows in its shard: by the plan's index of the shard. */
#define RING_QUARANTINED_MAX  170u
#define RING_QUARANTINED_REST UINT32_MAX
struct ring_quarantined {
	uint64_t shard, offset; /* offset: in the inflated bytes */
	uint32_t row;           /* that stays empty; RING_QUARANTINED_REST: all of the shard from there on */
	uint16_t source, split;
};
static_assert(sizeof(struct ring_quarantined) == 24, "left-out records are 24 bytes");

/* What the column "quarantine" of a DATA, END_SEGMENT or ERROR slot holds, as far as column[].bytes goes: it
 * comes with the cursor that counts the same records, so that a checkpoint of both has each of them once. */
struct ring_quarantine {
	uint32_t records, more; /* more: those that did not fit */
	struct ring_quarantined record[RING_QUARANTINED_MAX];
};
static_assert(sizeof(struct ring_quarantine) <= RING_COLUMN_ALIGN, "the list takes one page of a slot");

enum ring_pages { RING_HUGE_PAGES = 1, RING_SMALL_PAGES };

struct ring;

/* Size of the file, in whole 2 MiB pages: what drivers/hugepage is asked for. */
uint64_t ring_file_bytes(const struct ring_geometry *geometry);

/* ---- Both sides ---- */

/* Unmap, give the role's lock back. Accepts NULL. */
void ring_close(struct ring *ring);
void ring_closep(struct ring **ring); /* for CLEANUP() */

const struct ring_geometry *ring_geometry_of(const struct ring *ring);
uint64_t ring_slot_bytes(const struct ring *ring);
/* Whether this file lies on hugepages. */
enum ring_pages ring_pages_of(const struct ring *ring);
/* False once the file was cut under us: bytes of slots still held may have turned to zeros, so nothing made
 * from them may be kept. */
bool ring_intact(const struct ring *ring);

/* ---- Writer ---- */

/* Bytes that files hold at `path` and its temporary name, all of which ring_create() uses again or gives
 * back. */
uint64_t ring_held_bytes(const char *path);

/* Remove the file at `path`, so that the next writer makes a new one. None there is no error.
 * Errors: -EBUSY a writer or a reader holds it. */
MUST_CHECK int ring_discard(const char *path, struct error *err);

/* Open the ring at `path` as its writer: takes over a whole file of the same geometry, else marks an old one
 * retired, waits for the reader's lock (at most `wait_ms`), gives its pages back, and makes a new one
 * (temporary name, fallocate, rename; mode 0660). Blocks: only for an old ring's reader. Errors: -EBUSY
 * another writer holds it, or the reader keeps a retired one; -ENOMEM too few pages, naming how many are
 * needed; -EINVAL a geometry out of bounds; -EUCLEAN the path names no file. */
MUST_CHECK int ring_create(const char *path, const struct ring_geometry *geometry, uint32_t wait_ms,
			   struct ring **ret_ring, struct error *err);

/* The generation the reader wants, and where it wants to go on. 0 while nobody has asked yet. Never blocks.
 * *ret_from is the cursor to continue from: `wanted`, or, when this generation already has committed slots
 * (the writer was restarted), the cursor after the last of them; the reader can write it, so the caller
 * checks it. *ret_closed says that the generation already ended with ERROR. */
uint64_t ring_request(struct ring *ring, struct cursor *ret_from, bool *ret_closed);

/* Acknowledge generation `generation`; later commits carry it. The caller's decode threads must be quiet. */
void ring_begin(struct ring *ring, uint64_t generation);

/* Claim the next free slot for filling; claims run ahead of commits. The bytes are the caller's until
 * committed. Errors: -EAGAIN no free slot; -EUCLEAN the reader's tail is wild. Never blocks. */
MUST_CHECK int ring_claim(struct ring *ring, struct ring_slot **ret_slot);

/* Forget claims that were not committed (a new generation was asked for). */
void ring_unclaim(struct ring *ring);

/* Publish the oldest claimed slot; sequence, generation and directory are filled in here except
 * column[].bytes. */
void ring_commit(struct ring *ring);

/* Whether the reader sleeps because it has no slot. */
bool ring_reader_waits(const struct ring *ring);

/* Sleep until the reader has released a slot since the last claim, or made a request since the last
 * ring_request(), or the time (at most 1 s) is over. Returns 0, also when nothing happened, or -ETIMEDOUT. */
int ring_writer_wait(struct ring *ring, uint32_t timeout_ms);

/* ---- Reader ---- */

/* Open an existing ring as its reader. Errors: -ENOENT none yet; -EBUSY another reader; -ESTALE it is
 * retired: try again for the new one; -EUCLEAN not a ring, or one of other sizes than its header says. */
MUST_CHECK int ring_open(const char *path, struct ring **ret_ring, struct error *err);

/* Ask the writer to go on from `wanted`. Slots of other generations are released unread from here on. When
 * the slot to come next already follows `wanted`, nothing is asked and nothing is fetched again. */
void ring_attach(struct ring *ring, const struct cursor *wanted);

/* The next slot in order, not yet handed out. Never blocks.
 * Owns:   *ret_slot is a copy of its header that the writer cannot change, checked, and the ring's; it and
 * the columns stay valid until ring_release(). Several may be held at once. Errors: -EAGAIN none yet; -EPIPE
 * the ring is retired; -EUCLEAN the writer's memory makes no sense, or the file was cut. */
MUST_CHECK int ring_next(struct ring *ring, const struct ring_slot **ret_slot, struct error *err);

/* Done with a slot got from ring_next(), in any order; tail advances over the finished prefix. Any thread may
 * call. */
void ring_release(struct ring *ring, const struct ring_slot *slot);

/* Sleep until there is something for ring_next(), or the time (at most 1 s) is over. Returns 0, also when
 * nothing happened, or -ETIMEDOUT. */
int ring_reader_wait(struct ring *ring, uint32_t timeout_ms);

/* ---- Slots ---- */

/* Bytes of a column, capacity long; where it lies is the geometry's word, not the slot's. */
void *ring_column_data(const struct ring *ring, const struct ring_slot *slot, uint32_t column);
/* The record of an ERROR slot. For the reader it is the peer's memory: copy it, then end its texts. */
struct ring_error *ring_error_data(const struct ring *ring, const struct ring_slot *slot);
