/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/workers/worker.h"

#include "drivers/notify/alive.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/decode/decode.h"
#include "fetchd/decode/index.h"
#include "fetchd/shard/sources.h"
#include "fetchd/shard/work.h"
#include "fetchd/windows/window.h"
#include "fetchd/workers/gather.h"

#define SHARD_LEASE_S 900u /* for the largest shard on a slow core */

/* Adds the shard's bytes to its window's account; a window that no longer fits is the shard's error. The lock
 * is held. */
static void account(const struct fetch *fetch, struct shard *shard)
{
	struct group *group = shard->group;

	/* A shard that failed for lack of disk is counted when it is loaded once more. */
	if (buffer_lacks_disk(shard->err.code))
		return;
	group->bytes += shard->records * sizeof(*shard->record);
	if (shard->plain != shard->stored)
		group->bytes += shard->plain_bytes;
	if (group->bytes > fetch->window_max && !shard->err.code)
		(void)index_too_large(fetch, shard, &shard->err);
}

/* Settles a shard that is not fetched once more. The lock is held. */
static void settle(struct fetch *fetch, struct shard *shard, enum verdict verdict)
{
	if (verdict == VERDICT_SKIP) {
		shard->err.code = 0;
		shard->window->lost += shard->lost;
	}
	account(fetch, shard);
	if (verdict == VERDICT_GOOD && fetch->cache && !shard->repinned)
		writer_add(&fetch->cache->writer, shard);
	if (fetch->cache)
		claims_end(&fetch->cache->claims, &shard->claim);
	shard_leaves(shard, STALL_PARSE);
	window_settle(fetch, shard);
}

static void work_on_shard(struct fetch *fetch, struct inflater *inflater, struct shard *shard)
{
	enum verdict verdict = decode_shard(fetch, inflater, shard);

	(void)pthread_mutex_lock(&fetch->lock);
	if (verdict == VERDICT_AGAIN) {
		shard->err.code = 0;
		shard_forgets(shard);
		sources_fetch(shard);
	} else {
		settle(fetch, shard, verdict);
	}
	(void)pthread_mutex_unlock(&fetch->lock);
}

/* Waits until this worker, number `mine`, may work and there is work; then pops it. */
static void next_work(struct fetch *fetch, struct alive_worker *worker, uint32_t mine, struct span *ret_span,
		      struct shard **ret_shard)
{
	struct work *work = fetch->work;

	(void)pthread_mutex_lock(&fetch->lock);
	while (mine >= work->workers || work_is_empty(work)) {
		fetch_wait(fetch, mine < work->workers ? &work->ready : &work->rested, IDLE_MS);
		alive_tick(worker);
	}
	work_pop(work, ret_span, ret_shard);
	if (*ret_shard && fetch->discard)
		(*ret_shard)->err.code = -ECANCELED;
	(void)pthread_mutex_unlock(&fetch->lock);
}

/* Opened at the start and not at the first compressed shard, so that nothing allocates in the middle of the
 * run. */
static struct inflater *open_inflater(void)
{
	struct inflater *inflater;
	struct error err;

	if (inflater_open(&inflater, &err) < 0)
		_exit(alive_fatal(STATUS_FETCHD, &err));
	return inflater;
}

static struct batch_decoder *open_decoder(const struct fetch *fetch)
{
	struct batch_decoder *decoder;
	struct error err;

	if (batch_decoder_new(&fetch->run.config, &decoder, &err) < 0)
		_exit(alive_fatal(STATUS_FETCHD, &err));
	return decoder;
}

void *worker_thread(void *argument)
{
	struct fetch *fetch = argument;
	struct alive_worker *worker = alive_worker("a decode thread");
	struct inflater *inflater = open_inflater();
	struct batch_decoder *decoder = open_decoder(fetch);
	uint32_t mine;

	cores_pin(&fetch->cores.decode);
	(void)pthread_mutex_lock(&fetch->lock);
	mine = fetch->work->begun++;
	(void)pthread_mutex_unlock(&fetch->lock);
	for (;; alive_lease_end(worker)) {
		struct shard *shard;
		struct span span;

		next_work(fetch, worker, mine, &span, &shard);
		alive_lease(worker, NULL, SHARD_LEASE_S);
		if (shard)
			work_on_shard(fetch, inflater, shard);
		else
			gather_span(fetch, decoder, &span);
	}
	return NULL;
}
