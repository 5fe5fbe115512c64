/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/cache/shard_writer.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "fetchd/cache/shard_object.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_BYTES  (UINT64_C(4) << 20) /* written between two checks of job->given_up */
#define LEASE_S      900u
#define PAUSE_US     60000000u /* no writing after the disk failed */
#define FREE_DISK_US 10000000u /* wait for an eviction: the thread may be writing a file */
#define END_WAIT_MS  10000u

/* ---- Jobs: the lock is held ---- */

static void return_spare(struct shard_writer *writer, struct write_job *job)
{
	writer->backlog_bytes -= job->pin.bytes;
	buffer_rest(&job->own);
	if (job->own.output.data)
		writer->spare[writer->spares++] = job->own;
}

/* Removes finished jobs from the queue, the oldest first. */
static void reap(struct shard_writer *writer)
{
	while (writer->tail != writer->at) {
		struct write_job *job = &writer->job[writer->tail % WRITE_JOBS_MAX];

		if (!job->done || job->readers > 0)
			return;
		if (job->own.output.data)
			return_spare(writer, job);
		writer->tail++;
	}
}

/* Lets the window use the buffer again. */
static void release(struct shard_writer *writer, struct write_job *job)
{
	if (!job->shard)
		return;
	job->shard->group->caching--;
	job->shard = NULL;
	job->data = NULL;
	(void)pthread_cond_signal(&writer->fetch->progress);
}

void writer_add(struct shard_writer *writer, struct shard *shard)
{
	struct write_job *job;
	struct cache_object object;
	struct cache_strings strings;

	if (!object_is_cacheable(shard) || shard->cached)
		return;
	if (writer->head - writer->tail == WRITE_JOBS_MAX) {
		atomic_fetch_add(&writer->passed_over, 1);
		return;
	}
	job = &writer->job[writer->head % WRITE_JOBS_MAX];
	*job = (struct write_job){ .shard = shard,
				   .data = shard_memory(shard),
				   .source = shard->plan.source,
				   .key = shard->plan.key,
				   .pin = shard->pin,
				   .claim = shard->claim };
	shard->claim = CACHE_CLAIM_NONE;
	object = object_of_shard(shard, &strings);
	cache_name(&object, job->name);
	writer->head++;
	shard->group->caching++;
	(void)pthread_cond_signal(&writer->wake);
}

/* Frees the window of this job: the job gets the buffer, or is given up. False: not yet, as the thread
 * or the reader uses the buffer now. */
static bool leave_window(struct shard_writer *writer, struct write_job *job)
{
	const bool shared = shard_is_shared(job->shard);
	/* the job drops the file; the window needs no spare for it */
	const bool spilled = !shared && job->shard->raw.spilled;

	/* The bytes of a small object are copied: nobody may read them meanwhile. */
	if (shared && (job->busy || job->readers > 0))
		return false;
	if ((spilled || writer->spares > 0) &&
	    writer->backlog_bytes + job->pin.bytes <= writer->backlog_max) {
		writer->backlog_bytes += job->pin.bytes;
		job->own = shard_swap_raw(job->shard,
					  spilled ? (struct buffer){ 0 } : writer->spare[--writer->spares]);
		if (shared)
			job->data = job->own.output.data;
		job->shard->group->caching--;
		job->shard = NULL;
		return true;
	}
	atomic_store(&job->given_up, true);
	if ((job->busy && !job->written) || job->readers > 0)
		return false;
	release(writer, job);
	return true;
}

bool writer_releases(struct shard_writer *writer, struct group *group)
{
	bool all = true;

	if (group->caching == 0)
		return true;
	for (uint64_t i = writer->tail; i != writer->head; i++) {
		struct write_job *job = &writer->job[i % WRITE_JOBS_MAX];

		if (job->shard && job->shard->group == group && !leave_window(writer, job))
			all = false;
	}
	return all;
}

struct write_job *writer_borrow(struct shard_writer *writer, const char name[static CACHE_NAME_BYTES])
{
	for (uint64_t i = writer->tail; i != writer->head; i++) {
		struct write_job *job = &writer->job[i % WRITE_JOBS_MAX];

		if (job->data && !job->done && !atomic_load(&job->given_up) &&
		    memcmp(job->name, name, CACHE_NAME_BYTES) == 0) {
			job->readers++;
			return job;
		}
	}
	return NULL;
}

void writer_return(struct shard_writer *writer, struct write_job *job)
{
	job->readers--;
	if (job->readers == 0 && (job->done || (atomic_load(&job->given_up) && !job->busy)))
		release(writer, job);
	reap(writer);
}

/* ---- Disk space for windows that spill ---- */

bool writer_free_disk(void *context, uint64_t bytes)
{
	struct shard_writer *writer = context;
	struct fetch *fetch = writer->fetch;
	uint64_t until_us = clock_us() + FREE_DISK_US, mine;
	bool freed;

	(void)pthread_mutex_lock(&fetch->lock);
	mine = ++writer->asked;
	writer->wanted_bytes += bytes;
	(void)pthread_cond_signal(&writer->wake);
	while (writer->answered < mine && clock_us() < until_us)
		fetch_wait(fetch, &writer->answer, IDLE_MS);
	freed = writer->answered >= mine && writer->freed;
	(void)pthread_mutex_unlock(&fetch->lock);
	return freed;
}

/* Evicts for the windows that asked for space, and answers them. Afterwards nothing is written for a while,
 * which would use up the space again. The lock is held, but released meanwhile. */
static void answer(struct shard_writer *writer)
{
	uint64_t asked = writer->asked, bytes = writer->wanted_bytes;
	bool freed;

	if (asked == writer->answered)
		return;
	writer->wanted_bytes = 0;
	(void)pthread_mutex_unlock(&writer->fetch->lock);
	freed = evict_any(&writer->evictor, bytes);
	writer->pause_until_us = clock_us() + PAUSE_US;
	(void)pthread_mutex_lock(&writer->fetch->lock);
	writer->answered = asked;
	writer->freed = freed;
	(void)pthread_cond_broadcast(&writer->answer);
}

/* ---- The thread ---- */

static int write_pieces(struct shard_writer *writer, struct write_job *job, struct cache_writer *file,
			struct error *err)
{
	for (uint64_t at = 0; at < job->pin.bytes; at += PIECE_BYTES) {
		uint64_t left = job->pin.bytes - at;
		int r;

		if (atomic_load(&job->given_up)) {
			atomic_fetch_add(&writer->passed_over, 1);
			return error_set(err, -ECANCELED, "%s: its window is needed", job->key);
		}
		r = cache_append(file, job->data + at, left < PIECE_BYTES ? left : PIECE_BYTES, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_job(struct shard_writer *writer, struct write_job *job, struct error *err)
{
	CLEANUP(cache_abandon) struct cache_writer file = { 0 };
	struct cache_strings strings;
	struct cache_object object = object_of_key(writer->fetch, job->source, job->key, &job->pin, &strings);
	const struct cache_item item = {
		.name = job->name, .endpoint = object.endpoint, .bucket = object.bucket, .key = object.key
	};
	uint64_t tag;
	int r = evict_reread(&writer->evictor, false, err);

	if (r < 0)
		return r;
	evict_excess(&writer->evictor);
	tag = evict_tag(&writer->evictor, &item);
	if (!evict_for(&writer->evictor, job->pin.bytes, tag)) {
		atomic_fetch_add(&writer->passed_over, 1);
		return 0;
	}
	if ((r = cache_create(writer->folder, &object, &file, err)) < 0 ||
	    (r = write_pieces(writer, job, &file, err)) < 0)
		return r;
	(void)pthread_mutex_lock(&writer->fetch->lock);
	job->written = true;
	(void)pthread_mutex_unlock(&writer->fetch->lock);
	if ((r = cache_commit(&file, err)) < 0)
		return r;
	atomic_fetch_add(&writer->written, 1);
	cache_list_changed(&writer->evictor.list, writer->folder);
	return cache_list_add(&writer->evictor.list, job->name, job->pin.bytes, tag, err);
}

static void try_write(struct shard_writer *writer, struct write_job *job)
{
	struct error err = { 0 };
	int r;

	if (atomic_load(&job->given_up) || clock_us() < writer->pause_until_us) {
		atomic_fetch_add(&writer->passed_over, 1);
		return;
	}
	r = write_job(writer, job, &err);
	if (r == 0 || r == -ECANCELED)
		return;
	log_warning("%s: cannot be written into the cache: %s; going on without", job->key, err.text);
	/* The disk has less space than it says: free some for the next shard. */
	if (r == -ENOSPC || r == -EDQUOT)
		(void)evict_any(&writer->evictor, job->pin.bytes);
	writer->pause_until_us = clock_us() + PAUSE_US;
}

/* Waits for jobs; evicts meanwhile where the cache has become too large. The lock is held, but released
 * meanwhile. */
static void rest(struct shard_writer *writer, struct alive_worker *worker)
{
	struct fetch *fetch = writer->fetch;
	struct error err = { 0 };

	if (writer->asked == writer->answered)
		fetch_wait(fetch, &writer->wake, IDLE_MS);
	alive_tick(worker);
	answer(writer);
	if (writer->at != writer->head)
		return;
	(void)pthread_mutex_unlock(&fetch->lock);
	if (evict_reread(&writer->evictor, false, &err) < 0)
		log_warning("%s", err.text);
	evict_excess(&writer->evictor);
	(void)pthread_mutex_lock(&fetch->lock);
}

static void finish(struct shard_writer *writer, struct write_job *job)
{
	job->busy = false;
	job->done = true;
	claims_end(writer->claims, &job->claim);
	if (job->readers == 0)
		release(writer, job);
	writer->at++;
	reap(writer);
	(void)pthread_cond_signal(&writer->fetch->progress);
}

void *writer_thread(void *argument)
{
	struct shard_writer *writer = argument;
	struct fetch *fetch = writer->fetch;
	struct alive_worker *worker = alive_worker("the cache's writer");
	struct error err = { 0 };

	alive_lease(worker, NULL, LEASE_S);
	cache_sweep(writer->folder);
	if (evict_reread(&writer->evictor, true, &err) < 0)
		log_warning("%s", err.text);
	alive_lease_end(worker);
	(void)pthread_mutex_lock(&fetch->lock);
	for (;;) {
		while (writer->at == writer->head)
			rest(writer, worker);
		struct write_job *job = &writer->job[writer->at % WRITE_JOBS_MAX];

		answer(writer);
		job->busy = true;
		(void)pthread_mutex_unlock(&fetch->lock);
		alive_lease(worker, NULL, LEASE_S);
		try_write(writer, job);
		alive_lease_end(worker);
		(void)pthread_mutex_lock(&fetch->lock);
		finish(writer, job);
	}
	return NULL;
}

/* ---- Begin and end ---- */

/* Allocates as many spares as the backlog holds shards of average size, each large enough for the largest
 * shard. Spares rest: they are addresses without memory until they are used. */
static void allocate_spares(struct shard_writer *writer, const struct extent *extent)
{
	uint64_t average = extent->shards ? extent->bytes / extent->shards : 0,
		 wanted = average ? writer->backlog_max / average : 0;

	wanted = wanted < extent->shards ? wanted : extent->shards;
	while (writer->spares < WRITE_JOBS_MAX && writer->spares < wanted) {
		struct buffer spare = buffer_spare(extent->largest);

		if (!spare.allocated)
			return;
		writer->spare[writer->spares++] = spare;
	}
}

void writer_begin(struct shard_writer *writer, struct fetch *fetch, struct cache *folder,
		  struct shard_claims *claims)
{
	struct error err;

	writer->fetch = writer->evictor.fetch = fetch;
	writer->folder = writer->evictor.folder = folder;
	writer->claims = claims;
	writer->backlog_max = config_fetch_cache_backlog_bytes(&fetch->run.config);
	allocate_spares(writer, &fetch->extent);
	if (cache_list_reserve(&writer->evictor.list, fetch->extent.shards, &err) < 0)
		log_warning("cache: %s", err.text);
	(void)pthread_cond_init(&writer->wake, NULL);
	(void)pthread_cond_init(&writer->answer, NULL);
}

void writer_finish(struct shard_writer *writer)
{
	struct fetch *fetch = writer->fetch;
	uint64_t until_ms = clock_ms() + END_WAIT_MS;

	(void)pthread_mutex_lock(&fetch->lock);
	while (writer->at != writer->head && clock_ms() < until_ms)
		fetch_wait(fetch, &fetch->progress, IDLE_MS);
	(void)pthread_mutex_unlock(&fetch->lock);
}
