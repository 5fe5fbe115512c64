/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/prefetch/prefetch.h"

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "drivers/notify/alive.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/prefetch/copy.h"
#include "fetchd/windows/stream.h"

#include <inttypes.h>

#define LEASE_S 300u /* for work on the disk; waits for the network renew it */
#define LOOK_MS 20u  /* between two looks whether the cache's writer is done */

struct prefetch {
	struct fetch *fetch;
	struct alive_worker *worker;
	pthread_cond_t wake;
	bool due, over; /* guarded by fetch->lock: the run has all it needs; nothing more is copied */
	struct prefetch_copied copied;
};

static struct prefetch prefetch; /* once per process */

/* The writer evicts by the order of this run: it could evict what is copied for the next one. */
static bool may_copy(const struct fetch *fetch)
{
	const struct shard_writer *writer = &fetch->cache->writer;

	return prefetch.due && writer->at == writer->head;
}

static void awake(void *context)
{
	(void)context;
	alive_lease(prefetch.worker, NULL, LEASE_S);
}

static bool wanted(void *context)
{
	struct fetch *fetch = context;
	bool may;

	awake(NULL);
	(void)pthread_mutex_lock(&fetch->lock);
	may = may_copy(fetch);
	(void)pthread_mutex_unlock(&fetch->lock);
	return may;
}

/* Returns whether it is over: false where the run needs objects again. */
static bool copy_next(struct fetch *fetch)
{
	CLEANUP(prefetch_trial_done) struct prefetch_trial trial = { 0 };
	struct error err = { 0 };
	int r = prefetch_trial_find(fetch, awake, &trial, &err);

	if (r == 0)
		return true;
	if (r > 0)
		r = prefetch_copy(&trial, wanted, fetch, awake, &prefetch.copied, &err);
	if (r < 0)
		log_notice("the first objects of the next trial cannot be fetched ahead: %s", err.text);
	else if (r > 0)
		log_info("fetched ahead for trial %s: %" PRIu64 " objects, %" PRIu64 " bytes", trial.name,
			 (uint64_t)atomic_load(&prefetch.copied.objects),
			 (uint64_t)atomic_load(&prefetch.copied.bytes));
	return r != 0;
}

static void *prefetch_thread(void *argument)
{
	struct fetch *fetch = argument;

	prefetch.worker = alive_worker("the copy for the next trial");
	(void)pthread_mutex_lock(&fetch->lock);
	for (;;) {
		bool over;

		while (prefetch.over || !may_copy(fetch)) {
			fetch_wait(fetch, &prefetch.wake, prefetch.due && !prefetch.over ? LOOK_MS : IDLE_MS);
			alive_tick(prefetch.worker);
		}
		(void)pthread_mutex_unlock(&fetch->lock);
		awake(NULL);
		over = copy_next(fetch);
		alive_lease_end(prefetch.worker);
		(void)pthread_mutex_lock(&fetch->lock);
		prefetch.over = over;
	}
	return NULL;
}

/* Whether the run is a trial, and the only one at work. */
static bool is_possible(const struct fetch *fetch)
{
	CLEANUP(json_free) cJSON *record = NULL;

	return fetch->cache && fetch->world == 1 && fetch->beside == 1 && slot_now() == 0 &&
	       run_record(&record, NULL) == 0 && json_member(record, "series");
}

int prefetch_start(struct fetch *fetch, struct error *err)
{
	pthread_t thread;

	if (!is_possible(fetch))
		return 0;
	(void)pthread_cond_init(&prefetch.wake, NULL);
	prefetch.fetch = fetch;
	if (pthread_create(&thread, NULL, prefetch_thread, fetch) != 0)
		return error_set(err, -EAGAIN, "cannot start the thread that copies for the next trial");
	return 0;
}

void prefetch_look(struct fetch *fetch, const struct cursor *cursor)
{
	const bool due =
		prefetch.fetch && !prefetch.over && (cursor->ended || streams_have_all(fetch, cursor));

	if (due && !prefetch.due)
		(void)pthread_cond_signal(&prefetch.wake);
	prefetch.due = due;
}

void prefetch_count(struct status_fetchd *status)
{
	status->next_objects = atomic_load_explicit(&prefetch.copied.objects, memory_order_relaxed);
	status->next_bytes = atomic_load_explicit(&prefetch.copied.bytes, memory_order_relaxed);
	status->bytes += status->next_bytes;
}
