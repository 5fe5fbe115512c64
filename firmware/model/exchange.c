/* SPDX-License-Identifier: Apache-2.0 */
#include "model/exchange.h"

#include "drivers/ranks/ranks.h"
#include "model/learn/optimizers.h"
#include "model/passes.h"
#include "model/plan/chain.h"
#include "model/plan/round.h"
#include "model/state.h"

#include <inttypes.h>

#define VECTOR_BYTES (16 * sizeof(float))

/* ---- Buckets ---- */

static bool divides(const struct graph *graph, uint64_t bucket_bytes)
{
	return optimizer_divides(graph) && graph->arena_bytes[ARENA_GRADIENT] > bucket_bytes &&
	       !graph->config->tensorboard.histogram_epochs;
}

/* Returns after how many launches of the training plan bucket b is taken. It is complete then, the buckets
 * before are taken, and of the bucket two before no later launch reads the weights: exchange_go_on() updates
 * them then. */
static uint32_t ready_after(const struct model *model, uint32_t b)
{
	const struct bucket *bucket = &model->share.exchange.bucket[b];
	uint32_t ready = plan_uses_end(&model->train, ARENA_GRADIENT, bucket->first, bucket->end);

	if (b > 0 && ready < bucket[-1].ready)
		ready = bucket[-1].ready;
	if (b > 1 && bucket[-2].divided) {
		const uint32_t unused =
			plan_uses_end(&model->train, ARENA_STATE, bucket[-2].first, bucket[-2].end);

		if (ready < unused)
			ready = unused;
	}
	return ready;
}

/* Cuts the bytes [first, end) of the gradient arena into buckets like `as`. */
static void cut(struct model *model, uint64_t first, uint64_t end, uint64_t bytes, struct bucket as)
{
	struct exchange *exchange = &model->share.exchange;

	while (end > first) {
		struct bucket *bucket = &exchange->bucket[exchange->buckets];

		*bucket = as;
		bucket->end = end;
		end = bucket->first = end - first > bytes ? end - bytes : first;
		bucket->ready = ready_after(model, exchange->buckets++);
	}
}

static int cut_all(struct model *model, const struct model_exchange *with, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	const uint64_t bytes = round_up(with->bucket_bytes, TENSOR_ALIGN),
		       end = model->graph.arena_bytes[ARENA_GRADIENT],
		       parameters = graph_at(&model->graph, model->graph.gradient_region)->bytes;
	bool tail_apart;

	/* Two cuts have at most one bucket more than one cut. */
	exchange->bucket = calloc(divide_up(end, bytes) + 1, sizeof(*exchange->bucket));
	if (!exchange->bucket)
		return error_set(err, -ENOMEM, "buckets of gradients: out of memory");
	exchange->divides = divides(&model->graph, bytes);
	tail_apart = exchange->divides || with->rounds;
	if (tail_apart)
		cut(model, parameters, end, bytes, (struct bucket){ .exact = true });
	cut(model, 0, tail_apart ? parameters : end, bytes, (struct bucket){ .divided = exchange->divides });
	return 0;
}

static int ready_plan(struct model *model, struct plan *plan, struct error *err)
{
	int r = chain_plan(plan, model->gpu, model->arena, err);

	return r < 0 ? r : plan_bind(plan, model->program, model->buffer, err);
}

/* Makes the plan that updates the own chunk of a bucket. Its kernels are those of share->apply. */
static int plan_update(struct model *model, struct bucket *bucket, struct error *err)
{
	const struct model_exchange *with = &model->share.exchange.with;
	const struct ranks_chunk own =
		ranks_chunk((bucket->end - bucket->first) / sizeof(float), with->world, with->rank);

	bucket->own_first = bucket->first + own.first * sizeof(float);
	bucket->own_end = bucket->own_first + own.count * sizeof(float);
	plan_init(&bucket->update, &model->graph, gpu_is_cpu(model->gpu));
	if (own.count == 0)
		return 0;
	pass_emit_update(&bucket->update, bucket->own_first / VECTOR_BYTES, bucket->own_end / VECTOR_BYTES);
	return ready_plan(model, &bucket->update, err);
}

static int plan_updates(struct model *model, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	int r;

	if (!exchange->divides)
		return 0;
	plan_init(&exchange->settle, &model->graph, gpu_is_cpu(model->gpu));
	pass_emit_settle(&exchange->settle);
	r = ready_plan(model, &exchange->settle, err);
	for (uint32_t b = 0; r == 0 && b < exchange->buckets; b++)
		if (exchange->bucket[b].divided)
			r = plan_update(model, &exchange->bucket[b], err);
	return r;
}

int exchange_open(struct model *model, const struct model_exchange *with, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	int r = cut_all(model, with, err);

	exchange->with = *with;
	if (r == 0)
		r = plan_updates(model, err);
	if (r < 0)
		return r;
	if (gpu_is_cpu(model->gpu)) {
		exchange->gradients = gpu_buffer_memory(model->arena[ARENA_GRADIENT]);
		exchange->state = gpu_buffer_memory(model->arena[ARENA_STATE]);
		return 0;
	}
	r = gpu_host_create(model->gpu, model->graph.arena_bytes[ARENA_GRADIENT], &exchange->host, err);
	if (r == 0)
		exchange->gradients = exchange->state = gpu_host_memory(exchange->host);
	return r;
}

void exchange_close(struct exchange *exchange)
{
	for (uint32_t b = 0; b < exchange->buckets; b++) {
		/* After an error a copy may still be on its way. */
		(void)!gpu_event_wait(&exchange->bucket[b].taken, NULL);
		gpu_event_free(&exchange->bucket[b].taken);
		plan_done(&exchange->bucket[b].update);
	}
	plan_done(&exchange->settle);
	gpu_host_free(exchange->host);
	free(exchange->bucket);
	*exchange = (struct exchange){ 0 };
}

/* ---- Bytes between device and host ---- */

/* Brings bytes of an arena to host memory when the commands enqueued so far are complete. */
static int take(struct model *model, enum arena arena, uint8_t *host, uint64_t first, uint64_t end,
		struct gpu_event *ret_taken, struct error *err)
{
	int r;

	if (!gpu_is_cpu(model->gpu) && end > first)
		return gpu_receive(model->gpu, model->arena[arena], first, host + first, end - first,
				   ret_taken, err);
	r = gpu_mark(model->gpu, ret_taken, err);
	return r < 0 ? r : gpu_flush(model->gpu, err);
}

/* Brings bytes of host memory to an arena, for the commands that are enqueued afterwards. */
static int give(struct model *model, enum arena arena, const uint8_t *host, uint64_t first, uint64_t end,
		struct error *err)
{
	if (gpu_is_cpu(model->gpu) || end == first)
		return 0;
	return gpu_write(model->gpu, model->arena[arena], first, host + first, end - first, false, err);
}

/* Begins a half of the exchange of a bucket, whose bytes are in `host`. */
static int start(const struct exchange *exchange, enum model_half half, uint8_t *host, struct bucket *bucket,
		 struct error *err)
{
	return exchange->with.start(exchange->with.arg, half, (float *)(void *)(host + bucket->first),
				    (bucket->end - bucket->first) / sizeof(float), &bucket->ticket, err);
}

static int await(const struct exchange *exchange, const struct bucket *bucket, struct error *err)
{
	return exchange->with.wait(exchange->with.arg, bucket->ticket, err);
}

static int await_taken(struct bucket *bucket, struct error *err)
{
	int r = gpu_event_wait(&bucket->taken, err);

	gpu_event_free(&bucket->taken);
	return r;
}

/* ---- A step ---- */

int exchange_take(struct model *model, uint32_t b, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	struct bucket *bucket = &exchange->bucket[b];

	if (b == 0)
		exchange->reduced = exchange->updated = exchange->spread = 0;
	return take(model, ARENA_GRADIENT, exchange->gradients, bucket->first, bucket->end, &bucket->taken,
		    err);
}

/* Begins to sum the next bucket, as soon as it is taken. */
static int reduce(struct exchange *exchange, struct error *err)
{
	struct bucket *bucket = &exchange->bucket[exchange->reduced++];
	int r = await_taken(bucket, err);

	if (r == 0)
		r = start(exchange, bucket->exact ? MODEL_REDUCE_EXACT : MODEL_REDUCE, exchange->gradients,
			  bucket, err);
	if (r == 0 && !bucket->divided)
		r = start(exchange, bucket->exact ? MODEL_SPREAD_EXACT : MODEL_SPREAD, exchange->gradients,
			  bucket, err);
	return r;
}

/* Waits for the sums of the next bucket. Where it is divided, updates the own chunk and takes its weights. */
static int update(struct model *model, const struct plan_values *values, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	struct bucket *bucket = &exchange->bucket[exchange->updated++];
	int r = await(exchange, bucket, err);

	if (r == 0 && !bucket->divided)
		return give(model, ARENA_GRADIENT, exchange->gradients, bucket->first, bucket->end, err);
	exchange->apart = true;
	if (r == 0)
		r = give(model, ARENA_GRADIENT, exchange->gradients, bucket->own_first, bucket->own_end, err);
	if (r == 0)
		r = plan_run(&bucket->update, model->gpu, values, err);
	return r < 0 ? r
		     : take(model, ARENA_STATE, exchange->state, bucket->own_first, bucket->own_end,
			    &bucket->taken, err);
}

/* Begins to give the weights of the next bucket to all, as soon as they are taken. */
static int spread(struct exchange *exchange, struct error *err)
{
	struct bucket *bucket = &exchange->bucket[exchange->spread++];
	int r = bucket->divided ? await_taken(bucket, err) : 0;

	return r < 0 || !bucket->divided ? r
					 : start(exchange, MODEL_SPREAD_EXACT, exchange->state, bucket, err);
}

/* Each stage stays a bucket behind the one before: while this thread waits, the device has the launches of
 * the next bucket, and the link those before. */
int exchange_go_on(struct model *model, const struct plan_values *values, uint32_t taken, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	int r = 0;

	if (!exchange->divides)
		return 0;
	while (r == 0 && exchange->reduced + 1 < taken)
		r = reduce(exchange, err);
	while (r == 0 && exchange->updated + 1 < exchange->reduced)
		r = update(model, values, err);
	while (r == 0 && exchange->spread + 1 < exchange->updated)
		r = spread(exchange, err);
	return r;
}

int exchange_run(struct model *model, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	int r = 0;

	while (r == 0 && exchange->reduced < exchange->buckets)
		r = reduce(exchange, err);
	while (r == 0 && !exchange->divides && exchange->updated < exchange->buckets)
		r = update(model, NULL, err);
	return r;
}

int exchange_update(struct model *model, const struct plan_values *values, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	struct bucket *const all = exchange->bucket;
	int r = 0;

	while (r == 0 && exchange->updated < exchange->buckets)
		r = update(model, values, err);
	while (r == 0 && exchange->spread < exchange->buckets)
		r = spread(exchange, err);
	for (uint32_t b = 0; r == 0 && b < exchange->buckets; b++)
		if (all[b].divided && (r = await(exchange, &all[b], err)) == 0)
			r = give(model, ARENA_STATE, exchange->state, all[b].first, all[b].end, err);
	return r < 0 ? r : plan_run(&exchange->settle, model->gpu, values, err);
}

/* ---- Slots ---- */

/* Gathers a bucket of a slot, whose region begins at `offset` of the state arena. */
static int gather(struct model *model, struct bucket *bucket, uint64_t offset, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	const bool cpu = gpu_is_cpu(model->gpu);
	uint8_t *host = cpu ? exchange->state + offset : exchange->state;
	int r = 0;

	if (!cpu && bucket->own_end > bucket->own_first)
		r = gpu_read(model->gpu, model->arena[ARENA_STATE], offset + bucket->own_first,
			     host + bucket->own_first, bucket->own_end - bucket->own_first, NULL, err);
	if (r == 0)
		r = start(exchange, MODEL_SPREAD_EXACT, host, bucket, err);
	if (r == 0)
		r = await(exchange, bucket, err);
	if (r == 0 && !cpu)
		r = gpu_write(model->gpu, model->arena[ARENA_STATE], offset + bucket->first,
			      host + bucket->first, bucket->end - bucket->first, true, err);
	return r;
}

int model_gather(struct model *model, struct error *err)
{
	struct exchange *exchange = &model->share.exchange;
	const struct graph *graph = &model->graph;
	int r = 0;

	if (!exchange->apart)
		return 0;
	/* On a CPU device the slots are used in place. */
	r = gpu_finish(model->gpu, err);
	for (uint32_t s = 0; r == 0 && s < graph->optimizer->slots(graph->config); s++)
		for (uint32_t b = 0; r == 0 && b < exchange->buckets; b++)
			if (exchange->bucket[b].divided)
				r = gather(model, &exchange->bucket[b],
					   graph_at(graph, graph->slot_region[s])->offset, err);
	exchange->apart = r < 0;
	return r;
}
