/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/shard/work.h"

void work_init(struct work *work)
{
	(void)pthread_cond_init(&work->ready, NULL);
	(void)pthread_cond_init(&work->rested, NULL);
}

void work_add_shard(struct fetch *fetch, struct shard *shard)
{
	(void)pthread_mutex_lock(&fetch->lock);
	queue_append(&fetch->work->shards, shard);
	(void)pthread_cond_signal(&fetch->work->ready);
	(void)pthread_mutex_unlock(&fetch->lock);
}

bool work_is_full(const struct work *work)
{
	return work->head - work->tail == FETCH_SPANS_MAX;
}

void work_add_span(struct work *work, const struct span *span)
{
	work->span[work->head++ % FETCH_SPANS_MAX] = *span;
	work->spans++;
	work->untold++;
}

void work_tell(struct work *work)
{
	if (work->untold == 1)
		(void)pthread_cond_signal(&work->ready);
	else if (work->untold > 1)
		(void)pthread_cond_broadcast(&work->ready);
	work->untold = 0;
}

bool work_is_empty(const struct work *work)
{
	return work->head == work->tail && !work->shards.first;
}

void work_pop(struct work *work, struct span *ret_span, struct shard **ret_shard)
{
	*ret_shard = NULL;
	if (work->head != work->tail)
		*ret_span = work->span[work->tail++ % FETCH_SPANS_MAX];
	else
		*ret_shard = queue_pop(&work->shards);
}

void work_set_workers(struct work *work, uint32_t workers)
{
	work->workers = workers;
	/* Wake all workers: a worker that has to rest must not sleep on `ready`, where it would swallow a
	 * signal meant for a worker that works. */
	(void)pthread_cond_broadcast(&work->ready);
	(void)pthread_cond_broadcast(&work->rested);
}
