/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-fetchd's parts and what they share.
 *
 *   main thread (commit.c)   follows the reader's wishes: picks windows, hands out spans of rows, publishes
 * slots in order network thread (network.c) keeps range requests in flight; a shard's bytes go to the
 * decoders when they are whole decode workers (decode.c)  inflate and index shards; gather spans of rows from
 * a window into a slot's columns
 *
 * One mutex guards everything below it in struct fetch. Workers sleep on `work`, the main thread on
 * `progress`.
 */
#pragma once

#include "core/ring.h"
#include "core/run.h"
#include "data/example.h"
#include "data/plan.h"
#include "drivers/nic/nic.h"
#include "drivers/store/store.h"

#include <pthread.h>

#define FETCH_SPANS_MAX    1024u
#define FETCH_COLUMN_EMPTY "empty"

struct record {
	uint64_t offset; /* of the data in the shard's plain bytes */
	uint32_t bytes;
	bool bad; /* its data CRC is wrong: the row stays empty */
};

/* One shard of a window: its bytes and where its records are. Buffers are kept from window to window. */
struct shard {
	struct window *window;
	struct plan_shard plan;
	struct store_pin pin;
	uint8_t *raw, *inflated; /* as fetched; as inflated, NULL when it came plain */
	uint64_t raw_capacity, plain_bytes;
	struct record *record;
	uint64_t records, records_capacity;
	struct store_request *part;
	uint64_t parts, parts_capacity, parts_left;
	bool fetched_again;
	struct error err; /* code 0 = good */
	uint64_t bad_offset;
	struct shard *next; /* in the queue it waits in */
};

enum window_state { WINDOW_IDLE, WINDOW_LOADING, WINDOW_READY };

struct place {
	enum split split;
	uint64_t segment, window;
};

struct window {
	enum window_state state;
	struct place place;
	struct shard *shard;
	uint64_t shards, loading; /* of them, not yet indexed */
	uint64_t *first;          /* index in the window of each shard's first record */
	uint64_t records;
	uint64_t spans; /* in flight */
};

/* A slot between claim and commit. */
struct pending {
	struct ring_slot *slot;
	enum ring_kind kind;
	enum split split;
	uint64_t segment, batch, first_row;
	uint32_t rows, skipped;
	uint32_t spans; /* in flight */
	bool sealed;
	struct cursor cursor;
	struct error err; /* code 0 = good */
	uint32_t err_row;
	const char *err_key;
	uint64_t err_offset;
};

/* Rows [row, row + count) of a slot come from offsets [offset, offset + count) of a window's order. */
struct span {
	struct window *window;
	struct pending *pending;
	uint64_t offset;
	uint32_t row, count;
};

struct fetch {
	struct run run;
	struct plan *plan;
	struct ring *ring;
	struct nic_cores cores;
	struct example_schema schema;
	struct store *store; /* the network thread's */
	uint64_t record_max, shard_max;

	pthread_mutex_t lock;
	pthread_cond_t work, progress;
	struct shard *to_fetch, *to_decode; /* queues, first in first out */
	struct span span[FETCH_SPANS_MAX];
	uint64_t spans_head, spans_tail;
	bool discard; /* give up what is being fetched: another generation is wanted */
};

/* plan.c: the run's plan, made and uploaded at its first start, opened and checked afterwards. */
MUST_CHECK int fetch_plan(const struct run *run, struct plan **ret_plan, struct error *err);

/* network.c */
void *network_thread(void *fetch);
/* Queue a shard for fetching; the lock is held. */
void network_fetch(struct fetch *fetch, struct shard *shard);

/* decode.c */
void *decode_thread(void *fetch);

/* window.c: all with the lock held */
uint64_t window_count(const struct fetch *fetch, enum split split);
/* Start loading. -ENOMEM when a window does not fit fetch.memory_bytes. */
MUST_CHECK int window_load(struct fetch *fetch, struct window *window, struct place place, struct error *err);
/* Called when the last of a window's shards is indexed. */
void window_complete(struct window *window);
/* The record at `offset` of the window's order. */
const struct record *window_record(const struct fetch *fetch, const struct window *window, uint64_t offset,
				   const struct shard **ret_shard);
/* The first shard that failed, or NULL. */
const struct shard *window_failure(const struct window *window);

/* commit.c: until the run is final. */
MUST_CHECK int fetch_run(struct fetch *fetch, struct error *err);
