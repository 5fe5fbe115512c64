/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/ring: transports batches from fetchd to traind. A single-producer, single-consumer ring of slots of
 * equal size in hugepage memory, a batch in each slot. One writer process, one reader process.
 *
 * Crashes: either process may die at any instruction and come back, and no batch is lost, repeated or torn
 * (ring_shared.h says why). The ring itself is a file on a tmpfs or hugetlbfs: a reboot loses it, and the
 * trainer then asks for the cursor of its checkpoint. Each side treats the memory that the other side writes
 * as untrusted input: it checks every index and size, and returns -EUCLEAN for a wrong one instead of
 * crashing. -EUCLEAN means a damaged ring, not damaged data: both sides start again, and the writer replaces
 * a ring that it cannot use.
 *
 * Writer: ring_create -> (ring_request -> ring_begin -> (ring_claim, fill, ring_commit)*)* -> ring_close
 * Reader: ring_open -> ring_attach -> (ring_next, use, ring_release)* -> ring_close
 *
 * The counter head is the number of slots published since the file was made, and tail the number of slots
 * released. Both have 64 bits and are never reset. Only the writer stores head, only the reader stores tail.
 * Decode threads may fill claimed slots in any order; one thread, the committer, publishes the slots one by
 * one and in order. Cost: claim, commit, next and release are O(1), without a system call while the other
 * side is awake. Threads: the writer's calls come from one thread, the reader's calls from one thread; any
 * thread may call ring_release(), ring_intact() and the functions on slots.
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
#define RING_VERSION      2u
#define RING_COLUMNS_MAX  2050u /* data/batch.h: two of each feature, and two more */
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

/* The directory entry of a column in a slot; `offset` counts from the start of the slot. */
struct ring_column {
	uint32_t dtype, reserved;
	uint64_t offset, bytes, capacity;
};
static_assert(sizeof(struct ring_column) == 32, "directory entries are 32 bytes");

/* The head of a slot: this header, then the cursor of the position after the slot, then the directory of
 * columns, which has ring_geometry.columns entries. The head takes whole pages: one for up to 92 columns. The
 * columns follow, each at a multiple of RING_COLUMN_ALIGN. The members total_* are set in an
 * END_SEGMENT slot. An ERROR slot has a struct ring_error at the offset of the first column. */
struct ring_slot {
	uint64_t sequence; /* the position at which the slot was published, counted like head */
	uint64_t generation;
	uint32_t kind;  /* enum ring_kind */
	uint32_t split; /* enum split */
	uint32_t rows;  /* rows in the columns: of this rank's lanes alone, the rows of a lane side by side
			   (struct order_part in data/order.h). With several lanes it is the same in every
			   DATA slot of a run; with one, the last batch of a segment may have fewer rows */
	uint32_t valid_rows; /* rows that hold a record: a skipped record or a lane at its end leaves an empty
				row */
	uint64_t segment;    /* index of the segment in this split */
	uint64_t batch;      /* index of this batch in its segment */
	uint64_t total_batches, total_rows, total_skipped; /* END_SEGMENT: sums of the segment, but
							      total_skipped is the sum of the run so far */
	uint32_t columns;
	int32_t error_code; /* ERROR: negative errno */
	uint64_t first_row; /* index in the segment of the first row of the global batch: the counter for the
			       random numbers of dropout. Each of L lanes has given first_row / L rows to the
			       batches of the segment before this one, empty ones included: row i of a lane in
			       this slot is row first_row / L + i of the lane in the segment */
	uint8_t reserved[40];
	struct cursor cursor; /* the cursor of the position after this slot */
	struct ring_column column[];
};
static_assert(offsetof(struct ring_slot, cursor) == 128, "the slot header is 128 bytes");

/* The error in an ERROR slot, stored after the slot's head. */
struct ring_error {
	char text[RING_ERROR_TEXT];
	char key[RING_ERROR_KEY]; /* key of the object; "" = none */
	uint64_t offset;          /* position in the object in bytes */
};

/* A record that was left out because of fetch.bad_record = "skip", or such a record with all later records of
 * its shard. */
#define RING_QUARANTINED_MAX  170u
#define RING_QUARANTINED_REST UINT32_MAX
struct ring_quarantined {
	uint64_t shard, offset; /* index of the shard in the plan; byte in its inflated data */
	uint32_t row; /* the row of the slot that is empty; RING_QUARANTINED_REST: all later records of the
			 shard are left out */
	uint16_t source, split;
};
static_assert(sizeof(struct ring_quarantined) == 24, "left-out records are 24 bytes");

/* The column "quarantine" of a DATA, END_SEGMENT or ERROR slot: the records that were left out. The first
 * column[].bytes bytes are valid. The list is in the same slot as the cursor that already counts these
 * records, so a checkpoint that stores both has each record exactly once. */
struct ring_quarantine {
	uint32_t records, more; /* more: number of further records, which did not fit into the list */
	struct ring_quarantined record[RING_QUARANTINED_MAX];
};
static_assert(sizeof(struct ring_quarantine) <= RING_COLUMN_ALIGN, "the list takes one page of a slot");

enum ring_pages { RING_HUGE_PAGES = 1, RING_SMALL_PAGES };

struct ring;

/* Returns the size of the ring's file, in whole pages of 2 MiB. */
uint64_t ring_file_bytes(const struct ring_geometry *geometry);

/* ---- Both sides ---- */

/* Unmaps the ring and releases the lock of the writer or reader. Accepts NULL. */
void ring_close(struct ring *ring);
void ring_closep(struct ring **ring); /* for CLEANUP() */

const struct ring_geometry *ring_geometry_of(const struct ring *ring);
uint64_t ring_slot_bytes(const struct ring *ring);
/* Tells whether the file is on hugepages. */
enum ring_pages ring_pages_of(const struct ring *ring);
/* Returns the memory in which all slots lie, and its size: a device's driver may pin it. It begins at a page,
 * and is mapped until ring_close(). */
void *ring_memory(const struct ring *ring, uint64_t *ret_bytes);
/* Returns false where another process has cut the mapped file short. The bytes of the slots that the caller
 * still holds may then be zeros, so drop every result made from them. */
bool ring_intact(const struct ring *ring);

/* ---- Writer ---- */

/* Returns the size of the files at `path` and at its temporary name. This memory is available to
 * ring_create(), which reuses or frees these files. */
uint64_t ring_held_bytes(const char *path);

/* Removes the file at `path`, so that the next writer makes a new ring. A missing file is no error. Errors:
 * -EBUSY a writer or a reader has the ring open. */
MUST_CHECK int ring_discard(const char *path, struct error *err);

/* Opens the ring at `path` as its writer. A complete file with the same geometry is used again. Any other
 * file is marked as retired; when its reader has left, its pages are freed and a new file is made (temporary
 * name, fallocate, rename; mode 0660). Blocks: at most `wait_ms`, for the reader of a retired ring. Errors:
 * -EBUSY another writer has the ring open, or the reader has not left; -ENOMEM too few pages; the text tells
 * how many are needed; -EINVAL a geometry out of bounds; -EUCLEAN the path is not a regular file. */
MUST_CHECK int ring_create(const char *path, const struct ring_geometry *geometry, uint32_t wait_ms,
			   struct ring **ret_ring, struct error *err);

/* Returns the generation that the reader has requested; 0 where no reader has requested one. Blocks: never.
 * *ret_from is the cursor from which the writer continues: normally the cursor `wanted` of the reader. Where
 * the writer was restarted and this generation already has published slots, it is the cursor after the last
 * of these slots. The caller must check the cursor, because the reader can write this memory. *ret_closed:
 * the generation has already ended with an ERROR slot. */
uint64_t ring_request(struct ring *ring, struct cursor *ret_from, bool *ret_closed);

/* Starts a generation: every slot committed from now on gets this generation. The caller's decode threads
 * must have stopped filling slots. */
void ring_begin(struct ring *ring, uint64_t generation);

/* Claims the next free slot, so that the caller can fill it. Several slots may be claimed before the first is
 * committed.
 * Owns:   the bytes of the slot belong to the caller until ring_commit().
 * Blocks: never.
 * Errors: -EAGAIN no free slot; -EUCLEAN the reader's tail is out of range, or the file was cut short. */
MUST_CHECK int ring_claim(struct ring *ring, struct ring_slot **ret_slot);

/* Drops all claimed slots that were not committed, because the reader has requested a new generation. */
void ring_unclaim(struct ring *ring);

/* Publishes the oldest claimed slot. Sets the slot's sequence, generation and directory; the caller has set
 * column[].bytes. */
void ring_commit(struct ring *ring);

/* Tells whether the reader sleeps because no slot is published. */
bool ring_reader_waits(const struct ring *ring);

/* Sleeps until one of these happens: the reader has released a slot since the last claim; the reader has
 * requested a generation since the last ring_request(); `timeout_ms` (at most 1 s) is over. Returns
 * -ETIMEDOUT after the time-out, else 0. It may also return 0 without a reason. */
int ring_writer_wait(struct ring *ring, uint32_t timeout_ms);

/* ---- Reader ---- */

/* Opens an existing ring as its reader. Errors: -ENOENT there is no ring yet; -EBUSY another reader has the
 * ring open; -ESTALE the ring is retired: try again until the new ring exists; -EUCLEAN the file is not a
 * ring, or its size differs from the size in its header. */
MUST_CHECK int ring_open(const char *path, struct ring **ret_ring, struct error *err);

/* Requests the batches after the cursor `wanted` as a new generation. From now on slots of other generations
 * are released unread. Where the next slot in the ring already follows `wanted`, makes no request, so that no
 * batch is fetched again. */
void ring_attach(struct ring *ring, const struct cursor *wanted);

/* Returns the next slot in order.
 * Owns:   *ret_slot belongs to the ring. It is a checked copy of the slot's header, which the writer cannot
 * change. The copy and the columns are valid until ring_release(). The caller may hold several slots at once.
 * Blocks: never.
 * Errors: -EAGAIN no slot yet; -EPIPE the ring is retired; -EUCLEAN the writer's memory has impossible
 * values, or the file was cut short. */
MUST_CHECK int ring_next(struct ring *ring, const struct ring_slot **ret_slot, struct error *err);

/* Releases a slot that ring_next() returned. Slots may be released in any order; tail moves up to the oldest
 * slot that is not released. Any thread may call it. */
void ring_release(struct ring *ring, const struct ring_slot *slot);

/* Sleeps until ring_next() can return a slot or an error, or `timeout_ms` (at most 1 s) is over. Returns
 * -ETIMEDOUT after the time-out, else 0. It may also return 0 without a reason. */
int ring_reader_wait(struct ring *ring, uint32_t timeout_ms);

/* ---- Slots ---- */

/* Returns the bytes of a column, which has its whole capacity in every slot. The address is computed from our
 * checked copy of the geometry and never from the slot, which the other side can write. */
void *ring_column_data(const struct ring *ring, const struct ring_slot *slot, uint32_t column);
/* Returns the error in an ERROR slot. The writer can still change this memory, so the reader must copy it and
 * then terminate the texts of the copy with a NUL. */
struct ring_error *ring_error_data(const struct ring *ring, const struct ring_slot *slot);
