/* SPDX-License-Identifier: Apache-2.0 */
#include "model/share.h"

#include "model/plan/parts.h"
#include "model/plan/round.h"
#include "model/state.h"

#include <inttypes.h>
#include <string.h>

static uint64_t arena_bytes(const struct model *model)
{
	return model->graph.arena_bytes[ARENA_GRADIENT];
}

static bool is_ragged(const struct graph *graph, uint32_t input)
{
	return graph_at(graph, graph->input[input])->splits != GRAPH_NO_TENSOR;
}

/* Allocates the row splits of the micro-batches in flight. */
static int make_splits(struct model *model, struct error *err)
{
	const struct graph *graph = &model->graph;

	for (uint32_t i = 0; i < graph->inputs; i++)
		for (uint32_t turn = 0; is_ragged(graph, i) && turn < MODEL_BATCHES_AHEAD; turn++) {
			model->share.splits[turn][i] = calloc(graph->batch_rows + 1, sizeof(int64_t));
			if (!model->share.splits[turn][i])
				return error_set(err, -ENOMEM, "model: out of memory");
		}
	return 0;
}

int share_open(struct model *model, struct error *err)
{
	struct share *share = &model->share;
	int r = gpu_kernel_create(model->program, "add_part", &share->add, err);

	share->count = model->graph.parts;
	if (r == 0)
		r = gpu_kernel_set_buffer(share->add, 0, model->arena[ARENA_GRADIENT], err);
	return r == 0 ? make_splits(model, err) : r;
}

void share_close(struct model *model)
{
	struct share *share = &model->share;

	plan_done(&share->apply);
	gpu_kernel_free(share->add);
	for (uint32_t level = 0; level < SHARE_LEVELS; level++)
		gpu_buffer_free(share->waiting[level]);
	for (uint32_t turn = 0; turn < MODEL_BATCHES_AHEAD; turn++)
		for (uint32_t i = 0; i < MODEL_INPUTS_MAX; i++)
			free(share->splits[turn][i]);
	exchange_close(&share->exchange);
}

/* ---- The batch of a micro-batch ---- */

/* Copies the splits from row `first` on, so that they begin at 0. */
static const int64_t *rebase(const int64_t *splits, uint64_t first, uint64_t rows, int64_t *copy)
{
	for (uint64_t row = 0; row <= rows; row++)
		copy[row] = splits[first + row] - splits[first];
	return copy;
}

static const void *skip(const void *host, const struct tensor *tensor, uint64_t elements)
{
	return host ? (const uint8_t *)host + elements * dtype_bytes(tensor->dtype) : NULL;
}

/* Sets the inputs of a micro-batch from row `first` of the batch on. */
static int cut_inputs(struct model *model, const struct model_batch *batch, uint64_t first, uint64_t turn,
		      struct model_batch *part, struct error *err)
{
	const struct graph *graph = &model->graph;
	const uint64_t rows = graph->batch_rows;

	for (uint32_t i = 0; i < graph->inputs; i++) {
		const struct tensor *tensor = graph_at(graph, graph->input[i]);
		const int64_t *splits = batch->input[i + 1];

		if (!is_ragged(graph, i)) {
			part->input[i] = skip(batch->input[i], tensor, first * tensor->elements);
			continue;
		}
		if (splits[first] < 0 || (uint64_t)splits[first] > tensor->elements * model->share.count)
			return error_set(err, -EBADMSG, "%s: row %" PRIu64 " begins at %" PRId64,
					 tensor->name, first, splits[first]);
		part->input[i] = skip(batch->input[i], tensor, (uint64_t)splits[first]);
		part->input[i + 1] =
			rebase(splits, first, rows, model->share.splits[turn % MODEL_BATCHES_AHEAD][i]);
		i++;
	}
	return 0;
}

static uint32_t count_valid(const uint8_t *empty, uint32_t rows)
{
	uint32_t valid = 0;

	for (uint32_t row = 0; row < rows; row++)
		valid += !empty || !empty[row];
	return valid;
}

int share_cut(struct model *model, const struct model_batch *batch, uint32_t k, uint64_t turn,
	      struct model_batch *ret_part, struct error *err)
{
	const struct graph *graph = &model->graph;
	const uint32_t rows = (uint32_t)graph->batch_rows, first = k * rows;
	const struct tensor *label = graph_at(graph, graph->label);

	if (batch->rows != rows * model->share.count)
		return error_set(err, -EINVAL,
				 "batch: found %u rows, expected %u of each of %u micro-batches", batch->rows,
				 rows, model->share.count);
	*ret_part = (struct model_batch){
		.label = skip(batch->label, label, first * label->elements),
		.weight = batch->weight ? batch->weight + first : NULL,
		.empty = batch->empty ? batch->empty + first : NULL,
		.rows = rows,
		.first_row = batch->first_row,
		.ticket = k + 1 == model->share.count ? batch->ticket : NULL,
	};
	ret_part->part = batch->part;
	if (batch->part.lanes && model->share.count > 1)
		ret_part->part = (struct order_part){ batch->part.lanes, batch->part.first + k, 1, rows };
	ret_part->valid_rows = count_valid(ret_part->empty, rows);
	return cut_inputs(model, batch, first, turn, ret_part, err);
}

/* ---- The sum ---- */

/* Keeps the gradient arena until its neighbour in the tree is there. */
static int keep(struct model *model, uint32_t level, struct error *err)
{
	struct gpu_buffer **waiting = &model->share.waiting[level];
	struct gpu_event copied = { 0 };
	int r = 0;

	if (!*waiting)
		r = gpu_buffer_create(model->gpu, arena_bytes(model), waiting, err);
	if (r == 0)
		r = gpu_copy(model->gpu, model->arena[ARENA_GRADIENT], *waiting, &copied, err);
	gpu_event_free(&copied);
	return r;
}

/* Adds the sum that waits on a level to a range of the gradient arena, as the left one. */
static int add(struct model *model, uint32_t level, uint64_t first, uint64_t end, struct error *err)
{
	const uint32_t from = (uint32_t)(first / (16 * sizeof(float))),
		       to = (uint32_t)(end / (16 * sizeof(float)));
	const uint64_t groups[2] = { divide_up(to - from, PART_CHUNK), 1 };
	struct gpu_kernel *kernel = model->share.add;
	int r = gpu_kernel_set_buffer(kernel, 1, model->share.waiting[level], err);

	if (r == 0)
		r = gpu_kernel_set(kernel, 2, &from, sizeof(from), err);
	if (r == 0)
		r = gpu_kernel_set(kernel, 3, &to, sizeof(to), err);
	return r < 0 ? r : gpu_launch(model->gpu, kernel, groups, err);
}

/* The bits of k are the sums that wait: 2^level micro-batches on each level whose bit is set. Returns the
 * level up to which micro-batch k completes sums; the last one completes all. */
static uint32_t top_of(const struct share *share, uint32_t k)
{
	uint32_t level = 0;

	while (k >> level && (k >> level & 1 || k + 1 == share->count))
		level++;
	return level;
}

/* Adds to a range of the gradient arena what waits for micro-batch k. */
static int add_waiting(struct model *model, uint32_t k, uint64_t first, uint64_t end, struct error *err)
{
	const uint32_t top = top_of(&model->share, k);
	int r = 0;

	for (uint32_t level = 0; r == 0 && level < top; level++)
		if (k >> level & 1)
			r = add(model, level, first, end, err);
	return r;
}

/* Trains the last micro-batch of this process. Each bucket leaves as soon as the backward pass has finished
 * it. */
static int train_last(struct model *model, const struct plan_values *values, uint32_t k, struct error *err)
{
	const struct exchange *exchange = &model->share.exchange;
	struct plan_values update = *values;
	uint32_t at = 0;
	int r = 0;

	update.rows = update.valid_rows = 0;
	for (uint32_t b = 0; r == 0 && b < exchange->buckets; b++) {
		const struct bucket *bucket = &exchange->bucket[b];

		r = plan_run_to(&model->train, model->gpu, values, bucket->ready, &at, err);
		if (r == 0)
			r = add_waiting(model, k, bucket->first, bucket->end, err);
		if (r == 0)
			r = exchange_take(model, b, err);
		if (r == 0)
			r = exchange_go_on(model, &update, b + 1, err);
	}
	if (r == 0)
		r = plan_run_to(&model->train, model->gpu, values, model->train.launches, &at, err);
	if (r == 0)
		r = gpu_flush(model->gpu, err);
	return r < 0 ? r : exchange_run(model, err);
}

int share_train(struct model *model, const struct plan_values *values, uint32_t k, struct error *err)
{
	const struct share *share = &model->share;
	const bool last = k + 1 == share->count;
	int r;

	if (last && share->exchange.buckets)
		return train_last(model, values, k, err);
	r = plan_run(&model->train, model->gpu, values, err);
	if (r == 0)
		r = add_waiting(model, k, 0, arena_bytes(model), err);
	return r < 0 || last ? r : keep(model, top_of(share, k), err);
}

int share_apply(struct model *model, const struct plan_values *values, struct error *err)
{
	struct share *share = &model->share;

	return share->exchange.divides ? exchange_update(model, values, err)
				       : plan_run(&share->apply, model->gpu, values, err);
}

int model_share(struct model *model, uint32_t first, uint32_t count, const struct model_exchange *exchange,
		struct error *err)
{
	if (!count || first + count > model->graph.parts || (count < model->graph.parts && !exchange))
		return error_set(err, -EINVAL, "micro-batches: found %u from %u on, allowed: some of 0 .. %u",
				 count, first, model->graph.parts - 1);
	model->share.first = first;
	model->share.count = count;
	exchange_close(&model->share.exchange);
	return count < model->graph.parts ? exchange_open(model, exchange, err) : 0;
}
