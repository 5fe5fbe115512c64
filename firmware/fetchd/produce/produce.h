/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread's own: where production stands, and the slots between claim and commit.
 * Order: (producer_start -> (produce -> commit.c publishes what is whole)*)* for each generation. The lock is
 * held in every call. produce() does one small step and never sleeps.
 *
 * A training batch is dealt before it is filled: each row to its lane and, by weight, to a source of it. An
 * evaluation takes one stream after the other, so that no row stays empty.
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/fetch.h"

/* A stream's rows of the batch in work. */
struct share {
	const uint32_t *row; /* rows of the slot; NULL = first, first + stride ... */
	uint32_t first, stride;
	uint32_t rows, taken; /* dealt to it; handed out */
	uint32_t limit;       /* of `rows`, those before the lane's end */
};

struct batch {
	uint32_t global_rows;                  /* with the other ranks' */
	uint32_t rows;                         /* this rank's: rows 0 .. rows - 1 of the slot */
	struct share share[CURSOR_PLACES_MAX]; /* a stream each; an evaluation has one */
};

/* The reader's wait for the ring, and the window that is missing. When it ends, its time is laid on the notes
 * of the shard that came last. */
struct stall {
	bool waits, lacks, lacked; /* lacks: in this turn; lacked: since */
	uint64_t since_us;         /* not charged to a stage yet */
	struct stream *stream;
	struct place place;
};

/* How many decode workers take work: as many as there are until the ring is full for long, one more whenever
 * the reader waits for them. How many windows are read ahead: one until the reader waits for one to arrive,
 * twice as many each time, as long as the memory holds them. */
struct tune {
	uint32_t least, calm; /* not fewer; looks in a row without a wait */
	uint64_t looked_us, arriving_us, decoding_us, waited_us, full_us; /* at the last look */
	const char *reason, *ahead_reason;
};

struct producer {
	struct status_page *page; /* NULL: it cannot be written */
	struct status status;
	uint64_t written_us;
	bool said_spilled;
	struct stall stall;
	struct tune tune;
	struct fetch *fetch;
	uint64_t generation;
	bool closed;          /* the generation ended: END_RUN or ERROR was claimed */
	struct cursor cursor; /* behind everything claimed so far, the open slot's rows not counted */
	uint64_t pass_over;   /* rows of the segment still to be passed over */
	bool filling;         /* `batch` is in work */
	struct batch batch;
	struct pending *open; /* the slot being filled; NULL while rows are passed over */
	struct pending *pending;
	uint32_t *room;      /* of each pending slot and of rows passed over: see deal_rows() */
	uint64_t head, tail; /* pending[tail .. head) modulo slots, oldest first */
	uint64_t skipped; /* rows, published in this generation; cursor.skipped holds what came before it */
};

/* What to do next: go on, wait for the reader, or wait for the workers. BROKEN: the reader's tail makes no
 * sense. */
enum step { STEP_DONE, STEP_WAIT_RING, STEP_WAIT_WORK, STEP_BROKEN };

/* produce.c */
enum step produce(struct producer *producer);
/* From a cursor that cursor_check() let pass. */
void produce_from(struct producer *producer, const struct cursor *cursor);
/* End the generation with an ERROR slot; `key` may be NULL. */
enum step produce_error(struct producer *producer, const struct error *err, const char *key, uint64_t offset);
/* Claim a slot for what comes next. */
enum step produce_claim(struct producer *producer, enum ring_kind kind, struct pending **ret_pending);
/* It carries the cursor as it is now. */
void produce_seal(struct producer *producer, struct pending *pending);
/* The open slot is the batch. */
void produce_batch(struct producer *producer);

/* deal.c: the rows of producer->batch. */
/* Deal `global_rows` rows to the streams; `room`, for twice as many, keeps them where there are several
 * sources. */
void deal_rows(struct producer *producer, uint64_t global_rows, uint32_t *room);
/* The same to whichever streams will have them. */
void deal_unseen(struct producer *producer, uint64_t global_rows);
/* Lane `lane` of this rank's (0 ..) has no rows from `row` on. */
void deal_end(struct producer *producer, uint32_t lane, uint32_t row);
/* Rows up to the last one that was handed out. */
uint32_t deal_rows_taken(const struct producer *producer);
uint32_t share_row(const struct share *share, uint32_t i);
/* How many of a share's rows lie below `row`. */
uint32_t share_below(const struct share *share, uint32_t row);
/* Rows of the global batch up to this rank's row `row`, that one included. */
uint64_t deal_global(const struct producer *producer, uint32_t row);

/* segment.c */
/* Whether a cursor is a place of the plan, and this rank's. Errors: -EBADMSG what it says. */
MUST_CHECK int cursor_check(const struct fetch *fetch, const struct cursor *cursor, struct error *err);
/* In training, a lane of this rank (0 ..) has no more rows: the first source's pass tells. */
bool segment_lane_is_over(const struct producer *producer, uint32_t own);
/* No further row belongs to the cursor's segment. */
bool segment_is_over(struct producer *producer);
/* The stream that an evaluation takes its next row from; NULL = none. */
struct stream *segment_evaluated(struct producer *producer);
/* The last, smaller batch, which lies in the open slot, then END_SEGMENT with the next segment's first place.
 */
enum step segment_end(struct producer *producer);
/* What the segment at the cursor begins with. */
void segment_begin(struct producer *producer);

/* stall.c */
/* At each turn, before the producer's step. */
void stall_look(struct producer *producer);
/* A window is missing; it is there. */
void stall_lacks(struct producer *producer, struct stream *stream, struct place place);
void stall_has(struct producer *producer, const struct window *window);
/* Into the log, at the end. */
void stall_say(const struct producer *producer);
/* What is waited for now. */
void stall_show(const struct producer *producer, struct status_fetchd *status);

/* tune.c */
void tune_begin(struct producer *producer);
/* Once a second, whoever calls. */
void tune_look(struct producer *producer);
void tune_show(const struct producer *producer, struct status_fetchd *status);
