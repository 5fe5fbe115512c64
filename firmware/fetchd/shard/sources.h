/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources. Each has one network thread or several (nic_threads_of()), and each thread has a store of its own:
 * its connections, its queue and its shards in flight. The threads of a source share its connections and its
 * target rate. network.c is what such a thread does.
 *
 * Which thread: a shard goes whole to the thread that has the fewest bytes to move. So a thread on a busy
 * core gets fewer shards. The records of a run and their order do not depend on it.
 *
 * Lock: fetch->lock guards what the threads share; a comment names the members.
 */
#pragma once

#include "drivers/store/store.h"
#include "fetchd/shard/shard.h"
#include "fetchd/shared/fetch.h"

/* A network thread, and what belongs to it. */
struct network {
	struct source *source;
	struct store *store; /* belongs to the thread; others only wake it */
	/* stored bytes of the shards that wait for this thread, or are in flight */
	atomic_uint_fast64_t bytes;
	/* The rest is guarded by fetch->lock. */
	struct queue to_fetch;
	bool window_failed;             /* a window of the source was given up: look for its shards */
	struct store_counters counters; /* the store's, copied by the thread */
};

struct source {
	struct fetch *fetch;
	const char *url;
	struct network network[CONFIG_THREADS_MAX];
	struct store_counters said; /* guarded by fetch->lock: the figures of the newest line in the log */
};

struct sources {
	struct source source[PLAN_SOURCES_MAX];
	uint32_t count;
	uint32_t threads;                /* network threads of each source */
	uint32_t connections_max;        /* connections of one source */
	bool index_arrivals;             /* the result of arrival_pays() */
	atomic_uint_fast64_t part_bytes; /* size of a part of the newest shard */
};

/* The caller of each of these functions holds the lock. */

/* Queues a shard for a thread of its source. */
void sources_fetch(struct shard *shard);
/* Wakes all threads of all sources. */
void sources_wake(const struct sources *sources);
/* Marks the window of this shard as given up, and wakes the other threads of its source, which have shards of
 * the window, too. */
void sources_give_up_window(const struct shard *failed);
/* Returns the sum of the figures of a source's stores; `pace` is NULL. */
struct store_counters source_counters(const struct source *source);
