/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place in a run. Every ring slot carries the cursor *after* it; a checkpoint stores that; a resuming
 * trainer asks for it. Fixed size and layout: it lies in shared memory and in checkpoints, and is compared
 * with memcmp, so unused bytes are zero.
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

/* "train", "validation" or "test"; `split` is below SPLIT_MAX. */
const char *split_name(uint32_t split);

/* Where one source (and lane: index = source * lanes + lane) stands. */
struct cursor_place {
	uint64_t pass;   /* passes over the source that are behind us */
	uint64_t window; /* window within the pass */
	uint64_t offset; /* rows already taken of the window's permutation */
};

struct cursor {
	uint32_t version; /* CURSOR_VERSION */
	uint32_t split;   /* enum split of the segment the next batch belongs to */
	uint64_t segment; /* how many segments of this split are behind us: the epoch for train */
	uint64_t batch;   /* global batches of this segment that are behind us */
	uint64_t step;    /* training batches of the run that are behind us */
	uint64_t rows;    /* rows of this segment that are behind us: dropout's counter */
	uint64_t skipped; /* rows of the run left empty so far */
	uint32_t places;  /* used entries of place[] */
	uint32_t ended;   /* 1: the run has no further segment */
	struct cursor_place place[CURSOR_PLACES_MAX];
	/* Rank `rank` of `world` that share the lanes: the places of other ranks' lanes are not to be
	 * trusted. 0 and 0: of the whole run. */
	uint32_t rank, world;
	uint8_t reserved[CURSOR_BYTES - 64 - CURSOR_PLACES_MAX * sizeof(struct cursor_place)];
};

static_assert(sizeof(struct cursor) == CURSOR_BYTES, "the cursor is 1 KiB in files and shared memory");
