/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the producer, the main thread: where production stands, the batch in work, and the slots
 * between claim and commit.
 *
 * Files, each using those below:
 *
 *     produce.c   one step: begin, fill or finish a batch; end a segment or the run
 *     fill.c      rows of windows become spans
 *     end.c       the last, smaller batch; END_SEGMENT and END_RUN
 *     publish.c   commits slots in order
 *     slot.c      claims, seals and fails a slot
 *     deal.c      which row of a batch comes from which stream
 *     segment.c   where a cursor stands in its segment
 *     stall.c     what the reader waits for
 *
 * Why a training batch is dealt before it is filled: each row gets its lane and, by weight, a source of the
 * lane, before any record is there. So the rows do not depend on which window arrives first. In an evaluation
 * each lane fills its rows from one of its streams after the other, so that a row stays empty only where the
 * lane has ended.
 *
 * Why production goes in small steps: the main thread must neither block with the lock held nor miss a new
 * generation. A step that lacks a window, a free slot or a worker says so (enum step) and is repeated later.
 *
 * Crash: all of this is lost, and nothing is missed: the next process starts at the cursor in the last
 * committed slot, or at the cursor that the reader asks for.
 *
 * All functions are called with fetch->lock held. No function blocks.
 */
#pragma once

#include "fetchd/produce/stall.h"
#include "fetchd/shared/fetch.h"
#include "fetchd/windows/stream.h"
#include "fetchd/workers/pending.h"

/* A stream's rows of the batch in work. */
struct share {
	const uint32_t *row; /* rows of the slot; NULL = first, first + 1 ... */
	uint32_t first;
	uint32_t rows, given; /* rows dealt to the stream; rows handed out as spans */
	uint32_t limit;       /* rows before the lane's end: at most `rows` */
};

struct batch {
	uint32_t global_rows;                  /* rows of all ranks */
	uint32_t rows;                         /* rows of this rank: 0 .. rows - 1 of the slot */
	struct share share[CURSOR_PLACES_MAX]; /* one per stream; an evaluation has one per lane */
};

/* Counts of what this process has published into the ring since its start, for the status page. */
struct published {
	uint64_t segment, batch, records, skipped;
};

struct producer {
	struct fetch *fetch;
	uint64_t generation;
	bool closed;          /* the generation ended: END_RUN or ERROR was claimed */
	struct cursor cursor; /* after everything claimed so far, not counting the open slot's rows */
	uint64_t pass_over;   /* rows of the segment still to be passed over (order.skip_rows) */
	bool filling;         /* `batch` is in work */
	struct batch batch;
	struct pending *open; /* the slot in work; NULL while rows are passed over */
	struct pending *pending;
	uint64_t head, tail; /* pending[tail .. head) modulo slots, oldest first */
	uint32_t *dealt;     /* memory for deal_rows(): for each slot, and for rows passed over */
	uint64_t skipped;    /* rows published in this generation; cursor.skipped holds those before it */
	struct ring_quarantine unplaced; /* lost while rows were passed over: listed in the next slot */
	struct published published;
	struct stall stall;
};

/* What to do after a step: go on, wait for the reader, or wait for the workers. BROKEN: the reader's tail is
 * invalid.
 */
enum step { STEP_DONE, STEP_WAIT_RING, STEP_WAIT_WORK, STEP_BROKEN };
