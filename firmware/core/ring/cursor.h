/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor: a position in a run, from which all later batches of the run can be computed exactly.
 *
 * Why it exists: the order of all records is computed from the plan, the seed and a few counters, so a
 * position needs no list of the records already used. For each stream of records (a lane of a source) the
 * cursor has a place: pass, window and row. With these places any fetchd, on any machine, delivers the same
 * next batch. The cursor travels with the data: every ring slot carries the cursor *after* this slot, a
 * checkpoint stores the cursor of the last batch that it contains, and a trainer that resumes asks the ring
 * for this cursor. So weights and data always belong to the same batch.
 *
 * Size and layout are fixed, because the cursor is stored in shared memory and in checkpoints. Cursors are
 * compared with memcmp(3), so unused bytes are zero.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

#define CURSOR_VERSION    1u
#define CURSOR_PLACES_MAX 32u
#define CURSOR_BYTES      1024u

enum split {
	SPLIT_TRAIN,
	SPLIT_VALIDATION,
	SPLIT_TEST,
	SPLIT_MAX,
};

/* Returns "train", "validation" or "test"; `split` must be below SPLIT_MAX. */
const char *split_name(uint32_t split);

/* The position in one stream. The lane `lane` of a source is the stream with the index source * lanes +
 * lane. */
struct cursor_place {
	uint64_t pass;   /* number of complete passes over the source so far */
	uint64_t window; /* index of the window in the pass */
	uint64_t offset; /* number of rows of the window's permutation that are already used */
};

struct cursor {
	uint32_t version; /* CURSOR_VERSION */
	uint32_t split;   /* enum split of the segment to which the next batch belongs */
	uint64_t segment; /* number of complete segments of this split; for train this is the epoch */
	uint64_t batch;   /* global batches of this segment so far */
	uint64_t step;    /* training batches of the run so far */
	uint64_t rows;    /* rows of this segment so far: the counter for the random numbers of dropout */
	uint64_t skipped; /* rows of the run that are left empty so far */
	uint32_t places;  /* number of used entries of place[] */
	uint32_t ended;   /* 1: the run has no more segments */
	struct cursor_place place[CURSOR_PLACES_MAX];
	/* The cursor of rank `rank`, where `world` ranks share the lanes: only the places of this rank's
	 * lanes are valid. Both are 0 in the cursor of the whole run. */
	uint32_t rank, world;
	uint8_t reserved[CURSOR_BYTES - 64 - CURSOR_PLACES_MAX * sizeof(struct cursor_place)];
};

static_assert(sizeof(struct cursor) == CURSOR_BYTES, "the cursor is 1 KiB in files and shared memory");
