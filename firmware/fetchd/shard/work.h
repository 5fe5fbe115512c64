/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers' queue: spans of rows, and shards. Spans come first: they feed the ring, while shards are for
 * later windows.
 *
 * Order: work_init() -> (work_add_span -> work_tell, work_add_shard, work_pop)*. All calls under fetch->lock,
 * except work_add_shard(), which takes the lock. The queue of spans has a fixed length, FETCH_SPANS_MAX;
 * nothing allocates.
 *
 * Why wake-ups are batched (work_tell): a worker that is woken while the producer holds the lock would only
 * block on the lock.
 */
#pragma once

#include "fetchd/shard/shard.h"
#include "fetchd/shared/fetch.h"

#define FETCH_SPANS_MAX 1024u

struct pending;

/* `count` rows of a slot, from offsets [offset, offset + count) of a window's order. */
struct span {
	struct window *window; /* NULL = the rows stay empty */
	struct pending *pending;
	uint64_t offset;
	const uint32_t *row; /* rows of the slot; NULL = first, first + 1 ... */
	uint32_t first, count;
	uint32_t arrived; /* shards of the window when the span was handed out */
};

static inline uint32_t span_row(const struct span *span, uint32_t i)
{
	return span->row ? span->row[i] : span->first + i;
}

struct work {
	pthread_cond_t ready, rested; /* rested: workers above `workers` wait here */
	struct queue shards;
	struct span span[FETCH_SPANS_MAX];
	uint64_t head, tail;           /* span[tail .. head) modulo FETCH_SPANS_MAX wait */
	uint64_t spans;                /* handed out and not finished */
	uint64_t untold;               /* spans added since work_tell() */
	uint64_t whole;                /* slots finished since the producer was told */
	uint32_t workers, workers_max; /* threads that may work; all threads */
	uint32_t begun;                /* threads that have started */
};

void work_init(struct work *work);

/* Queues a shard that has all of its bytes, or an error. Takes the lock. */
void work_add_shard(struct fetch *fetch, struct shard *shard);

bool work_is_full(const struct work *work);
/* Queues a span; not when full. No worker is woken before work_tell(). */
void work_add_span(struct work *work, const struct span *span);
void work_tell(struct work *work);

bool work_is_empty(const struct work *work);
/* Pops the next span (*ret_shard is NULL then), or else the next shard; not when empty. */
void work_pop(struct work *work, struct span *ret_span, struct shard **ret_shard);

/* Sets the number of threads that work; the others rest. */
void work_set_workers(struct work *work, uint32_t workers);
