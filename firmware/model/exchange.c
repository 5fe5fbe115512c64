/* SPDX-License-Identifier: Apache-2.0 */
#include "model/exchange.h"

#include "model/plan/round.h"
#include "model/state.h"

#include <inttypes.h>

/* ---- Buckets ---- */

static int cut(struct model *model, uint64_t bucket_bytes, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	const uint64_t bytes = round_up(bucket_bytes, TENSOR_ALIGN);
	uint64_t end = model->graph.arena_bytes[ARENA_GRADIENT];
	uint32_t ready = 0;

	exchange->bucket = calloc(divide_up(end, bytes), sizeof(*exchange->bucket));
	if (!exchange->bucket)
		return error_set(err, -ENOMEM, "buckets of gradients: out of memory");
	while (end > 0) {
		struct bucket *bucket = &exchange->bucket[exchange->buckets++];

		bucket->end = end;
		end = bucket->first = end > bytes ? end - bytes : 0;
		bucket->ready = plan_uses_end(&model->train, ARENA_GRADIENT, bucket->first, bucket->end);
		/* Buckets are taken in order. */
		if (bucket->ready < ready)
			bucket->ready = ready;
		ready = bucket->ready;
	}
	return 0;
}

int exchange_open(struct model *model, const struct model_exchange *with, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	int r = cut(model, with->bucket_bytes, err);

	exchange->with = *with;
	if (r < 0)
		return r;
	if (gpu_is_cpu(model->gpu)) {
		exchange->arena = gpu_buffer_memory(model->arena[ARENA_GRADIENT]);
		return 0;
	}
	r = gpu_host_create(model->gpu, model->graph.arena_bytes[ARENA_GRADIENT], &exchange->host, err);
	if (r == 0)
		exchange->arena = gpu_host_memory(exchange->host);
	return r;
}

void exchange_close(struct exchange *exchange)
{
	for (uint32_t b = 0; b < exchange->buckets; b++) {
		/* After an error a copy may still be on its way. */
		(void)!gpu_event_wait(&exchange->bucket[b].taken, NULL);
		gpu_event_free(&exchange->bucket[b].taken);
	}
	gpu_host_free(exchange->host);
	free(exchange->bucket);
	*exchange = (struct exchange){ 0 };
}

/* ---- A step ---- */

int exchange_take(struct model *model, uint32_t b, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	struct bucket *bucket = &exchange->bucket[b];
	int r;

	if (!gpu_is_cpu(model->gpu))
		return gpu_receive(model->gpu, model->arena[ARENA_GRADIENT], bucket->first,
				   exchange->arena + bucket->first, bucket->end - bucket->first,
				   &bucket->taken, err);
	r = gpu_mark(model->gpu, &bucket->taken, err);
	return r < 0 ? r : gpu_flush(model->gpu, err);
}

/* Begins the exchange of a bucket once it is in host memory. */
static int begin(struct exchange *exchange, struct bucket *bucket, struct error *err)
{
	const struct model_exchange *with = &exchange->with;
	float *values = (float *)(void *)(exchange->arena + bucket->first);
	const uint64_t count = (bucket->end - bucket->first) / sizeof(*values);
	int r = gpu_event_wait(&bucket->taken, err);

	gpu_event_free(&bucket->taken);
	if (r == 0)
		r = with->start(with->arg, MODEL_REDUCE, values, count, &bucket->ticket, err);
	if (r == 0)
		r = with->start(with->arg, MODEL_SPREAD, values, count, &bucket->ticket, err);
	return r;
}

/* Waits for the sums of a bucket and gives them to the device. */
static int end(struct model *model, const struct bucket *bucket, struct error *err)
{
	const struct exchange *exchange = &model->share.exchange;
	int r = exchange->with.wait(exchange->with.arg, bucket->ticket, err);

	if (r < 0 || gpu_is_cpu(model->gpu))
		return r;
	return gpu_write(model->gpu, model->arena[ARENA_GRADIENT], bucket->first,
			 exchange->arena + bucket->first, bucket->end - bucket->first, false, err);
}

int exchange_run(struct model *model, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	int r = 0;

	for (uint32_t b = 0; r == 0 && b < exchange->buckets; b++)
		r = begin(exchange, &exchange->bucket[b], err);
	for (uint32_t b = 0; r == 0 && b < exchange->buckets; b++)
		r = end(model, &exchange->bucket[b], err);
	return r;
}
