/* SPDX-License-Identifier: Apache-2.0 */
/* What a pass has summed: loss and metrics, the confusion matrix, the loss scale. */
#include "model/learn/confusion.h"
#include "model/learn/losses.h"
#include "model/state.h"

#include <math.h>
#include <string.h>

/* Returns the offset of the first metric sum in the state arena, and sets *ret_bytes to the bytes up to the
 * end of the last one. The sums are neighbours; each begins at an aligned offset. */
static uint64_t sums_offset(const struct graph *graph, uint64_t *ret_bytes)
{
	const struct tensor *first = graph_at(graph, graph->loss_sum),
			    *last = graph_at(graph, graph->rows_sum);

	*ret_bytes = last->offset + last->bytes - first->offset;
	return first->offset;
}

#define SUMS_BYTES_MAX 2048u

/* Returns count / rows as an accuracy; 0 without rows, NAN if the loss has no accuracy. */
static double share_of(const struct graph *graph, int64_t count, int64_t rows)
{
	if (graph->loss->kind == METRICS_NUMBERS)
		return (double)NAN;
	return rows ? (double)count / (double)rows : 0;
}

/* What the queue has summed is copied between the state arena and this memory. */
struct sums_copy {
	uint8_t bytes[SUMS_BYTES_MAX];
};

/* Returns where the number of a lane of a sum is in the copy; `size` is what a lane has. */
static void *sum_at(const struct graph *graph, struct sums_copy *copy, uint32_t tensor, uint32_t lane,
		    size_t size)
{
	return copy->bytes + graph_at(graph, tensor)->offset - graph_at(graph, graph->loss_sum)->offset +
	       lane * size;
}

static void lane_sums(const struct graph *graph, struct sums_copy *copy, uint32_t lane,
		      struct model_sums *ret_sums)
{
	*ret_sums = (struct model_sums){ 0 };
	memcpy(ret_sums->loss, sum_at(graph, copy, graph->loss_sum, lane, sizeof(ret_sums->loss)),
	       sizeof(ret_sums->loss));
	memcpy(&ret_sums->correct, sum_at(graph, copy, graph->correct_sum, lane, sizeof(int64_t)),
	       sizeof(int64_t));
	if (graph->top_sum != GRAPH_NO_TENSOR)
		memcpy(&ret_sums->top, sum_at(graph, copy, graph->top_sum, lane, sizeof(int64_t)),
		       sizeof(int64_t));
	memcpy(&ret_sums->rows, sum_at(graph, copy, graph->rows_sum, lane, sizeof(int64_t)), sizeof(int64_t));
}

int model_sums_get(struct model *model, struct model_sums ret_sums[static MODEL_LANES_MAX], struct error *err)
{
	struct sums_copy copy;
	uint64_t bytes, offset = sums_offset(&model->graph, &bytes);
	int r = model_drain(model, err);

	static_assert(MODEL_LANES_MAX == CONFIG_STREAMS_MAX, "sums of each lane");
	if (r == 0)
		r = gpu_read(model->gpu, model->arena[ARENA_STATE], offset, copy.bytes, bytes, NULL, err);
	for (uint32_t lane = 0; r == 0 && lane < model->graph.lanes; lane++)
		lane_sums(&model->graph, &copy, lane, &ret_sums[lane]);
	return r;
}

int model_sums_set(struct model *model, const struct model_sums sums[static MODEL_LANES_MAX],
		   struct error *err)
{
	const struct graph *graph = &model->graph;
	struct sums_copy copy = { 0 };
	uint64_t bytes, offset = sums_offset(graph, &bytes);
	int r = model_drain(model, err);

	for (uint32_t lane = 0; lane < graph->lanes; lane++) {
		memcpy(sum_at(graph, &copy, graph->loss_sum, lane, sizeof(sums->loss)), sums[lane].loss,
		       sizeof(sums->loss));
		memcpy(sum_at(graph, &copy, graph->correct_sum, lane, sizeof(int64_t)), &sums[lane].correct,
		       sizeof(int64_t));
		if (graph->top_sum != GRAPH_NO_TENSOR)
			memcpy(sum_at(graph, &copy, graph->top_sum, lane, sizeof(int64_t)), &sums[lane].top,
			       sizeof(int64_t));
		memcpy(sum_at(graph, &copy, graph->rows_sum, lane, sizeof(int64_t)), &sums[lane].rows,
		       sizeof(int64_t));
	}
	return r < 0 ? r
		     : gpu_write(model->gpu, model->arena[ARENA_STATE], offset, copy.bytes, bytes, true, err);
}

int model_metrics(struct model *model, struct model_metrics *ret_metrics, struct error *err)
{
	const struct graph *graph = &model->graph;
	struct model_sums sums[MODEL_LANES_MAX], all = { 0 };
	double loss = 0;
	int r = model_sums_get(model, sums, err);

	if (r < 0)
		return r;
	for (uint32_t lane = 0; lane < graph->lanes; lane++) {
		loss += (double)sums[lane].loss[0] - (double)sums[lane].loss[1];
		all.correct += sums[lane].correct;
		all.top += sums[lane].top;
		all.rows += sums[lane].rows;
	}
	*ret_metrics = (struct model_metrics){
		.loss = all.rows ? loss / (double)all.rows : 0,
		.accuracy = share_of(graph, all.correct, all.rows),
		.top_k = share_of(graph, all.top, all.rows),
		.rows = (uint64_t)all.rows,
	};
	return 0;
}

int model_confusion(struct model *model, uint32_t **ret_matrix, uint64_t *ret_classes, struct error *err)
{
	const struct graph *graph = &model->graph;
	const uint64_t classes = confusion_classes(graph), bytes = classes * classes * sizeof(uint32_t);
	CLEANUP(free_ptr) uint32_t *matrix = classes ? malloc(bytes) : NULL;
	int r = model_drain(model, err);

	if (r == 0 && classes)
		r = matrix ? gpu_read(model->gpu, model->buffer[graph->confusion], 0, matrix, bytes, NULL,
				      err)
			   : error_set(err, -ENOMEM, "the confusion matrix: no memory");
	if (r < 0)
		return r;
	*ret_matrix = TAKE(matrix);
	*ret_classes = classes;
	return 0;
}

int model_loss_scale(struct model *model, double *ret_scale, uint64_t *ret_skipped, struct error *err)
{
	const struct loss_scale *tensors = &model->graph.loss_scale;
	int64_t steps[2] = { 0, 0 };
	float scale = 1;
	int r = model_drain(model, err);

	if (r == 0 && tensors->scale != GRAPH_NO_TENSOR)
		r = gpu_read(model->gpu, model->buffer[tensors->scale], 0, &scale, sizeof(scale), NULL, err);
	if (r == 0 && tensors->scale != GRAPH_NO_TENSOR)
		r = gpu_read(model->gpu, model->buffer[tensors->steps], 0, steps, sizeof(steps), NULL, err);
	if (r < 0)
		return r;
	*ret_scale = (double)scale;
	*ret_skipped = (uint64_t)steps[1];
	return 0;
}

int model_metrics_reset(struct model *model, struct error *err)
{
	static const uint8_t zeros[SUMS_BYTES_MAX];
	const uint32_t confusion = model->graph.confusion;
	uint64_t bytes, offset = sums_offset(&model->graph, &bytes);
	int r = gpu_write(model->gpu, model->arena[ARENA_STATE], offset, zeros, bytes, false, err);

	if (r < 0 || confusion == GRAPH_NO_TENSOR)
		return r;
	return gpu_write(model->gpu, model->buffer[confusion], 0,
			 graph_at(&model->graph, confusion)->constant,
			 graph_at(&model->graph, confusion)->bytes, false, err);
}

int model_fault_forget(struct model *model, struct error *err)
{
	static const struct fault none;
	int r = model_drain(model, err);

	if (r < 0 && (r != -EDOM || model->fault.what == FAULT_PARAMETER))
		return r;
	model->fault = none;
	r = gpu_write(model->gpu, model->buffer[model->graph.fault], 0, &none, sizeof(none), false, err);
	return r < 0 ? r : model_metrics_reset(model, err);
}

uint32_t model_lanes(const struct model *model)
{
	return model->graph.lanes;
}
