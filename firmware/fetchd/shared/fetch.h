/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-fetchd: brings the records of a run from its object stores into the ring, in the run's order, ahead of
 * the trainer.
 *
 * Floors, each standing on those below:
 *
 *     .          main, setup, run: start, main loop, status page, tuning
 *     produce/   main thread: which rows of which window go into which slot; segments; publishing
 *     prefetch/  a thread: the first objects of the next trial of a series
 *     workers/   worker threads: one shard or one span of rows at a time; bad records of a slot
 *     windows/   which windows of the plan are in memory, and the order of their records
 *     decode/    a fetched shard becomes plain bytes and an index of records; objects that changed
 *     cache/     shards in the disk cache: reader thread, writer thread, eviction
 *     shard/     a shard's way (shard.h draws it): sources and their threads, index on arrival, the workers'
 *                queue
 *     plan/      the run's plan, manifest.jsonl, and what the run record says about both
 *     shared/    this header: the state of the process; how far streams read ahead
 *     memory/    buffers and the budget that they share
 *
 * Threads:
 *
 *     producer (main)   run.c: follows the reader's cursor, loads windows, hands out spans of rows, publishes
 *                       slots in order
 *     network           shard/network.c: one or several per source, each with a store; keeps part requests in
 *                       flight
 *     workers           workers/worker.c: inflate and index shards, gather rows into slots
 *     cache's reader    cache/shard_reader.c
 *     cache's writer    cache/shard_writer.c
 *     next trial        prefetch/prefetch.c
 *
 * One mutex, fetch->lock, guards all that threads share and that is not atomic: queues, window states, spans,
 * pending slots. Workers sleep on work->ready, the producer on fetch->progress, each other thread on its own
 * condition. One lock is enough: it is taken per shard and per span, never per record.
 *
 * Crash: kiln-fetchd keeps no state of its own. The run record and the plan are on disk before the first
 * slot; the ring survives in its file. A new process attaches to the ring and starts at the reader's cursor,
 * so that no batch is lost and none comes twice. Windows, buffers and spilled files are loaded anew.
 */
#pragma once

#include "core/base/clock.h"
#include "core/ring/ring.h"
#include "core/run/run.h"
#include "data/example.h"
#include "data/filter.h"
#include "data/order.h"
#include "data/plan.h"
#include "drivers/cores/cores.h"
#include "drivers/nic/nic.h"
#include "fetchd/memory/buffer.h"

#include <pthread.h>

/* How long requests to a store that is gone are retried. Long, as a restart would not bring it back sooner.
 */
#define PATIENCE_MS 120000u
#define IDLE_MS     1000u /* a thread without work wakes up this often, to report that it is alive */

struct shard_cache;
struct sources;
struct streams;
struct windows;
struct work;

/* The size of the data: all shards of the plan together. */
struct extent {
	uint64_t shards, bytes, largest;
};

/* The state that the whole process shares. Set by main() and fetch_setup() and constant afterwards, except
 * where a comment says otherwise. The state of a module is in the module's own struct, behind one of the
 * pointers. */
struct fetch {
	struct run run;
	struct plan *plan;
	const struct plan_settings *settings; /* the plan's */
	struct extent extent;
	struct nic_cores cores;
	struct nic_threads threads; /* network threads of each source */
	struct ring *ring;
	struct example_schema schema;
	struct filter filter;
	uint32_t span_rows;     /* most rows of a span */
	bool filtered, fast;    /* the plan has a filter; order.mode is "fast" */
	bool objects;           /* a plan of objects: each shard is one record, as it is */
	uint32_t rank, world;   /* the trainer's: `world` trainers share the run's lanes */
	struct order_part part; /* this rank's lanes, and where their rows lie in a slot */
	unsigned beside;      /* fetchds that work side by side on this machine, of all slots and ranks: they
				 divide memory and cores */
	struct budget budget; /* memory of all windows: the share of this fetchd in fetch.memory_bytes */
	/* fetch.memory_bytes: the most that one window may take. What is refused does not depend on `beside`.
	 */
	uint64_t window_max;

	struct sources *sources;
	struct work *work;
	struct windows *windows;
	struct streams *streams;
	struct shard_cache *cache; /* NULL = none */

	pthread_mutex_t lock;
	pthread_cond_t progress; /* a window, a slot or a copy into the cache is finished */
	bool discard;      /* guarded by the lock: give up all loads, the reader asks for another cursor */
	uint64_t warnings; /* guarded by the lock: how often a picture was decoded with a warning */
	const struct cursor *cursor; /* guarded by the lock: the producer's; NULL = not yet */
};

/* Sleeps until `which` is signalled, at most `ms`; the lock is held. On the monotonic clock: if the time of
 * day were set back, all threads would sleep longer and the watchdog would end the process. */
static inline void fetch_wait(struct fetch *fetch, pthread_cond_t *which, uint32_t ms)
{
	uint64_t until_ns = clock_ns() + (uint64_t)ms * 1000000;
	struct timespec until = { .tv_sec = (time_t)(until_ns / 1000000000),
				  .tv_nsec = (long)(until_ns % 1000000000) };

	(void)pthread_cond_clockwait(which, &fetch->lock, CLOCK_MONOTONIC, &until);
}
