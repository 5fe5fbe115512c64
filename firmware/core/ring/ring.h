/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/ring: how batches get from fetchd to traind. A single-producer, single-consumer ring of slots of equal
 * size in hugepage memory, a batch in each slot. One writer process, one reader process.
 *
 * Crashes: either process may die at any instruction and come back, and no batch is lost, repeated or torn
 * (ring_shared.h says why). The ring itself is a file on a tmpfs or hugetlbfs: a reboot loses it, and the
 * trainer then asks for the cursor of its checkpoint. Each side treats the other side's memory as input: it
 * checks every index and size, and a wrong one is -EUCLEAN, never a crash. -EUCLEAN means a damaged ring, not
 * damaged data: both sides start again, and the writer replaces a ring that it cannot use.
 *
 * Writer: ring_create -> (ring_request -> ring_begin -> (ring_claim, fill, ring_commit)*)* -> ring_close
 * Reader: ring_open -> ring_attach -> (ring_next, use, ring_release)* -> ring_close
 *
 * head and tail count slots ever published and released: 64 bits, never reset. Only the writer stores head,
 * only the reader stores tail. Decode threads may fill claimed slots in any order; one thread, the committer,
 * publishes the slots one by one and in order.
 * Cost: claim, commit, next and release are O(1), without a system call while the other side is awake.
 * Threads: the writer's calls come from one thread, the reader's calls from one thread; any thread may call
 * ring_release(), ring_intact() and the functions on slots.
 *
 * If another process cuts the file short, an access to the missing pages raises SIGBUS. Opening a ring
 * installs a handler that maps zero pages over the whole ring and marks the ring dead. The handler passes a
 * SIGBUS of other memory to the handler that was installed before.
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

/* A column as the schema defines it. A ragged feature has two columns: NAME/splits (int64) and
 * NAME/values. */
struct ring_column_spec {
	char name[RING_NAME_MAX];
	uint32_t dtype;     /* enum ring_dtype */
	uint32_t row_bytes; /* bytes of each row; 0 for the values of a ragged feature */
	uint64_t capacity;  /* bytes reserved in every slot */
};

struct ring_geometry {
	uint32_t slots;
	uint32_t columns;
	struct ring_column_spec column[RING_COLUMNS_MAX];
};

/* A column of a slot; the offset counts from the start of the slot. */
struct ring_column {
	uint32_t dtype, reserved;
	uint64_t offset, bytes, capacity;
};
static_assert(sizeof(struct ring_column) == 32, "directory entries are 32 bytes");

/* The first page of a slot: this header, then the cursor after the slot, then the directory of columns. The
 * columns follow at multiples of RING_COLUMN_ALIGN. An END_SEGMENT slot has the totals; an ERROR slot has its
 * record where the first column begins. */
struct ring_slot {
	uint64_t sequence; /* the position in the ring that it was published at */
	uint64_t generation;
	uint32_t kind;       /* enum ring_kind */
	uint32_t split;      /* enum split */
	uint32_t rows;       /* rows in the columns; where ranks share the lanes, the rows of this rank */
	uint32_t valid_rows; /* rows with a record: skipped records and ended lanes leave rows empty */
	uint64_t segment;    /* index of the segment in this split */
	uint64_t batch;      /* index of this batch in its segment */
	uint64_t total_batches, total_rows,
		total_skipped; /* END_SEGMENT: sums of the segment; total_skipped: of the run so far */
	uint32_t columns;
	int32_t error_code; /* ERROR: negative errno */
	uint64_t first_row; /* index in the segment of the global batch's first row: dropout's counter */
	uint8_t reserved[40];
	struct cursor cursor; /* the position after this slot */
	struct ring_column column[RING_COLUMNS_MAX];
};
static_assert(offsetof(struct ring_slot, cursor) == 128, "the slot header is 128 bytes");
static_assert(sizeof(struct ring_slot) <= 4096, "header, cursor and directory fit the first page");

/* The record of an ERROR slot, after the first page. */
struct ring_error {
	char text[RING_ERROR_TEXT];
	char key[RING_ERROR_KEY]; /* object key, "" when none */
	uint64_t offset;          /* byte in the object */
};

/* A record that fetch.bad_record = "skip" leaves out, or all records that follow in its shard. */
#define RING_QUARANTINED_MAX  170u
#define RING_QUARANTINED_REST UINT32_MAX
struct ring_quarantined {
	uint64_t shard, offset; /* index of the shard in the plan; offset in the inflated bytes */
	uint32_t row;           /* the row that stays empty; RING_QUARANTINED_REST: the rest of the shard */
	uint16_t source, split;
};
static_assert(sizeof(struct ring_quarantined) == 24, "left-out records are 24 bytes");

/* The column "quarantine" of a DATA, END_SEGMENT or ERROR slot, of which column[].bytes are valid. The list
 * comes in the same slot as the cursor that counts these records, so that a checkpoint of both has each
 * record exactly once. */
struct ring_quarantine {
	uint32_t records, more; /* more: the number of records that did not fit */
	struct ring_quarantined record[RING_QUARANTINED_MAX];
};
static_assert(sizeof(struct ring_quarantine) <= RING_COLUMN_ALIGN, "the list takes one page of a slot");

enum ring_pages { RING_HUGE_PAGES = 1, RING_SMALL_PAGES };

struct ring;

/* Returns the size of the file, in whole pages of 2 MiB. */
uint64_t ring_file_bytes(const struct ring_geometry *geometry);

/* ---- Both sides ---- */

/* Unmaps the ring and unlocks the role. Accepts NULL. */
void ring_close(struct ring *ring);
void ring_closep(struct ring **ring); /* for CLEANUP() */

const struct ring_geometry *ring_geometry_of(const struct ring *ring);
uint64_t ring_slot_bytes(const struct ring *ring);
/* Tells whether the file lies on hugepages. */
enum ring_pages ring_pages_of(const struct ring *ring);
/* Returns false once the file was cut short while it was mapped: the bytes of slots still held may have
 * become zeros, so drop every result made from them. */
bool ring_intact(const struct ring *ring);

/* ---- Writer ---- */

/* Returns the bytes of the files at `path` and its temporary name. ring_create() uses them again or frees
 * them. */
uint64_t ring_held_bytes(const char *path);

/* Removes the file at `path`, so that the next writer makes a new ring. A missing file is no error.
 * Errors: -EBUSY a writer or a reader holds the ring. */
MUST_CHECK int ring_discard(const char *path, struct error *err);

/* Opens the ring at `path` as its writer. A whole file of the same geometry is used again. Any other file is
 * marked retired, and replaced once its reader has left: its pages are freed, and a new file is made
 * (temporary name, fallocate, rename; mode 0660). Blocks: at most `wait_ms`, for the reader of a retired
 * ring. Errors: -EBUSY another writer holds the ring, or the reader has not left; -ENOMEM too few pages, with
 * how many are needed; -EINVAL a geometry out of bounds; -EUCLEAN the path names something that is no
 * file. */
MUST_CHECK int ring_create(const char *path, const struct ring_geometry *geometry, uint32_t wait_ms,
			   struct ring **ret_ring, struct error *err);

/* Returns the generation that the reader asks for; 0 while no reader has asked. Blocks: never.
 * *ret_from is the cursor to continue from: the reader's `wanted`, or, where this generation already has
 * committed slots because the writer was restarted, the cursor after the last of these slots. The reader can
 * write this memory, so the caller checks the cursor. *ret_closed: the generation already ended with
 * ERROR. */
uint64_t ring_request(struct ring *ring, struct cursor *ret_from, bool *ret_closed);

/* Starts a generation: later commits carry it. The caller's decode threads must have stopped filling
 * slots. */
void ring_begin(struct ring *ring, uint64_t generation);

/* Claims the next free slot for filling; several slots may be claimed before the first is committed.
 * Owns:   the slot's bytes are the caller's until ring_commit().
 * Blocks: never.
 * Errors: -EAGAIN no free slot; -EUCLEAN the reader's tail is out of range, or the file was cut. */
MUST_CHECK int ring_claim(struct ring *ring, struct ring_slot **ret_slot);

/* Forgets the claims that were not committed, because the reader asked for a new generation. */
void ring_unclaim(struct ring *ring);

/* Publishes the oldest claimed slot. Fills in the sequence, the generation and the directory, except
 * column[].bytes. */
void ring_commit(struct ring *ring);

/* Tells whether the reader sleeps because it has no slot. */
bool ring_reader_waits(const struct ring *ring);

/* Sleeps until the reader has released a slot since the last claim, or has asked for a generation since the
 * last ring_request(), or the time (at most 1 s) is over. Returns -ETIMEDOUT, or 0, also after a wake-up
 * without a cause. */
int ring_writer_wait(struct ring *ring, uint32_t timeout_ms);

/* ---- Reader ---- */

/* Opens an existing ring as its reader. Errors: -ENOENT there is no ring yet; -EBUSY another reader has it;
 * -ESTALE the ring is retired, try again until the new one is there; -EUCLEAN the file is no ring, or has
 * another size than its header says. */
MUST_CHECK int ring_open(const char *path, struct ring **ret_ring, struct error *err);

/* Asks the writer to go on from `wanted`. From then on slots of other generations are released unread. Where
 * the next slot in the ring already follows `wanted`, nothing is asked for, and nothing is fetched again. */
void ring_attach(struct ring *ring, const struct cursor *wanted);

/* Returns the next slot in order.
 * Owns:   *ret_slot belongs to the ring: a checked copy of the slot's header, which the writer cannot change.
 * The copy and the columns are valid until ring_release(). Several slots may be held at once. Blocks: never.
 * Errors: -EAGAIN no slot yet; -EPIPE the ring is retired; -EUCLEAN the writer's memory makes no sense, or
 * the file was cut. */
MUST_CHECK int ring_next(struct ring *ring, const struct ring_slot **ret_slot, struct error *err);

/* Gives back a slot of ring_next(), in any order; tail moves up to the oldest slot that is still held. Any
 * thread may call it. */
void ring_release(struct ring *ring, const struct ring_slot *slot);

/* Sleeps until ring_next() has something, or the time (at most 1 s) is over. Returns -ETIMEDOUT, or 0, also
 * after a wake-up without a cause. */
int ring_reader_wait(struct ring *ring, uint32_t timeout_ms);

/* ---- Slots ---- */

/* Returns the bytes of a column, of the column's capacity. The position comes from our checked geometry,
 * never from the slot. */
void *ring_column_data(const struct ring *ring, const struct ring_slot *slot, uint32_t column);
/* Returns the record of an ERROR slot. The writer can still change it: a reader copies the record, then
 * terminates its texts. */
struct ring_error *ring_error_data(const struct ring *ring, const struct ring_slot *slot);
