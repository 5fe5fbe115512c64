/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/state.h"

#include <math.h>
#include <string.h>

/* ---- Batches ---- */

/* Waits for the oldest batch that is still in flight. */
static int complete_one(struct model *model, struct error *err)
{
	const uint64_t at = model->completed % model->flights;
	struct flight *flight = &model->flight[at];
	int r = gpu_event_wait(&flight->event, err);

	if (r < 0)
		return r;
	gpu_event_free(&flight->event);
	model->completed++;
	if (!model->fault.what && model->read_fault[at].what) {
		model->fault = model->read_fault[at];
		if (model->fault.what == FAULT_LABEL || model->fault.what == FAULT_ID)
			model->fault.row =
				(uint32_t)(flight->batch.first_row +
					   order_batch_row(&flight->batch.part, model->fault.element));
		model->bad = state_bad_number(&model->graph, &flight->batch);
		model->bad.row += flight->first;
		if (model->fault.what == FAULT_LABEL || model->fault.what == FAULT_ID)
			model->fault.element += flight->first;
	}
	return 0;
}

/* Counts the oldest completed batches as handed back if they have no ticket: nobody waits for them. */
static void drop_unticketed(struct model *model)
{
	while (model->handed_back < model->completed &&
	       !model->flight[model->handed_back % model->flights].batch.ticket)
		model->handed_back++;
}

int model_drain(struct model *model, struct error *err)
{
	int r = 0;

	while (r == 0 && model->completed < model->given)
		r = complete_one(model, err);
	drop_unticketed(model);
	if (r == 0 && model->fault.what)
		return state_fault(model, &model->fault, &model->bad, err);
	return r;
}

/* Waits until fewer than MODEL_BATCHES_AHEAD batches are in flight. */
static int await_room(struct model *model, struct error *err)
{
	int r = 0;

	while (r == 0 && model->given - model->completed >= MODEL_BATCHES_AHEAD)
		r = complete_one(model, err);
	return r;
}

/* Enqueues micro-batch k of a batch, whose rows are in the feed, and in training what its end completes: the
 * sums of gradients, and after the last one the update. */
static int run_part(struct model *model, struct plan *plan, uint32_t k, struct plan_values *values,
		    struct error *err)
{
	const struct graph *graph = &model->graph;
	struct share *share = &model->share;
	const bool training = plan == &model->train, last = k + 1 == share->count;
	int r;

	/* Random numbers depend on the row of the batch, lane after lane. */
	values->part = (share->first + k) * (graph->lanes / graph->parts);
	values->first_row += (share->first + k) * (uint32_t)graph->batch_rows;
	if (!training)
		return plan_run(plan, model->gpu, values, err);
	values->row_weight = 1.0f / (float)(graph->batch_rows * graph->parts);
	r = share_train(model, values, k, err);
	if (r < 0 || !last)
		return r;
	values->rows = values->valid_rows = 0;
	return share_apply(model, values, err);
}

/* Enqueues a batch, or micro-batch k of it. */
static int run(struct model *model, struct plan *plan, const struct model_batch *whole, uint32_t k,
	       struct error *err)
{
	const struct graph *graph = &model->graph;
	const uint64_t at = model->given % model->flights;
	struct flight *flight = &model->flight[at];
	struct plan_values values = { .step = (uint32_t)model->step };
	struct model_batch batch = *whole;
	int r;

	static_assert(FEED_SETS >= MODEL_BATCHES_AHEAD,
		      "the next set of the feed belongs to a complete batch");
	r = await_room(model, err);
	if (r < 0)
		return r;
	/* Other processes wait for the sum of this step: the caller looks at model_fault() instead. */
	if (model->fault.what && !(model->share.exchange.buckets && plan == &model->train))
		return state_fault(model, &model->fault, &model->bad, err);
	drop_unticketed(model);
	if (model->given - model->handed_back == model->flights)
		return error_set(err, -EBUSY, "batch: %u tickets wait for model_batch_done()",
				 MODEL_TICKETS_MAX);
	if (graph->parts > 1)
		r = share_cut(model, whole, k, model->given, &batch, err);
	if (r == 0)
		r = feed_batch(&model->feed, &batch, &values, err);
	if (r < 0)
		return r;
	optimizer_values(graph, model->step, &values);
	r = graph->parts > 1 ? run_part(model, plan, k, &values, err)
			     : plan_run(plan, model->gpu, &values, err);
	if (r == 0)
		r = gpu_read(model->gpu, model->buffer[graph->fault], 0, &model->read_fault[at],
			     sizeof(*model->read_fault), &flight->event, err);
	if (r == 0)
		r = gpu_flush(model->gpu, err);
	if (r < 0) {
		(void)!gpu_finish(model->gpu, NULL); /* the feed's next set may be one in flight */
		return r;
	}
	flight->batch = batch;
	flight->first = k * batch.rows;
	model->given++;
	return 0;
}

static int run_batch(struct model *model, struct plan *plan, const struct model_batch *batch,
		     struct error *err)
{
	const uint32_t parts = model->graph.parts > 1 ? model->share.count : 1;
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < parts; k++)
		r = run(model, plan, batch, k, err);
	return r;
}

int model_batch_memory(struct model *model, void *memory, uint64_t bytes, struct error *err)
{
	(void)!gpu_finish(model->gpu, NULL);
	return feed_pin(&model->feed, memory, bytes, err);
}

int model_train(struct model *model, const struct model_batch *batch, struct error *err)
{
	int r = run_batch(model, &model->train, batch, err);

	if (r == 0) {
		model->step++;
		model->trained = true;
	}
	return r;
}

int model_evaluate(struct model *model, const struct model_batch *batch, struct error *err)
{
	return run_batch(model, &model->evaluate, batch, err);
}

int model_finalize(struct model *model, struct error *err)
{
	struct plan_values values;

	optimizer_final_values(&values);
	return plan_run(&model->final, model->gpu, &values, err);
}

int model_batch_done(struct model *model, bool wait, void **ret_ticket, struct error *err)
{
	drop_unticketed(model);
	while (model->completed < model->given && model->handed_back == model->completed) {
		if (!wait && !gpu_event_done(&model->flight[model->completed % model->flights].event))
			break;
		int r = complete_one(model, err);

		if (r < 0)
			return r;
		drop_unticketed(model);
	}
	*ret_ticket = NULL;
	if (model->handed_back < model->completed)
		*ret_ticket = model->flight[model->handed_back++ % model->flights].batch.ticket;
	return 0;
}

/* ---- Faults, kernels and predictions ---- */

int model_fault(const struct model *model, uint32_t *ret_row, struct error *err)
{
	const struct fault *fault = &model->fault;

	if (!fault->what)
		return 0;
	*ret_row = UINT32_MAX;
	if (fault->what == FAULT_LABEL || fault->what == FAULT_ID)
		*ret_row = fault->element;
	else if (model->bad.tensor != GRAPH_NO_TENSOR)
		*ret_row = (uint32_t)model->bad.row;
	return state_fault(model, fault, &model->bad, err);
}

int model_keep_kernels(struct model *model, struct error *err)
{
	int r = model->trained ? model_drain(model, err) : 0;

	return r < 0 || !model->trained ? r : gpu_program_save(model->program, err);
}

bool model_compiles(const struct model *model)
{
	return !gpu_program_cached(model->program);
}

/* Sets ret_input to pointers to row `first` of each input. */
static void skip_rows(const struct graph *graph, const void *const *input, uint64_t first,
		      const void **ret_input)
{
	for (uint32_t i = 0; i < graph->inputs; i++) {
		const struct tensor *tensor = graph_at(graph, graph->input[i]);

		ret_input[i] =
			(const uint8_t *)input[i] + first * tensor->elements * dtype_bytes(tensor->dtype);
	}
}

int model_predict(struct model *model, const void *const *input, uint64_t rows, float *ret_outputs,
		  struct error *err)
{
	const struct graph *graph = &model->graph;
	const uint64_t outputs = graph_at(graph, graph->output)->elements;
	const uint32_t from = plan_source(&model->predict, graph->output);
	struct fault fault = { 0 };
	int r = await_room(model, err);

	for (uint64_t first = 0; r == 0 && first < rows; first += graph->batch_rows) {
		const uint64_t count = rows - first < graph->batch_rows ? rows - first : graph->batch_rows;
		struct plan_values values = { .rows = (int32_t)count,
					      .valid_rows = (int32_t)count,
					      .first_row = (uint32_t)first };
		const void *rest[GRAPH_INPUTS_MAX];

		skip_rows(graph, input, first, rest);
		r = feed_inputs(&model->feed, rest, count, &values, err);
		if (r == 0)
			r = plan_run(&model->predict, model->gpu, &values, err);
		if (r == 0)
			r = gpu_read(model->gpu, model->buffer[from], 0, ret_outputs + first * outputs,
				     count * outputs * sizeof(float), NULL, err);
		if (r == 0)
			r = gpu_read(model->gpu, model->buffer[graph->fault], 0, &fault, sizeof(fault), NULL,
				     err);
		if (r == 0 && fault.what == FAULT_ID)
			r = state_fault(model, &fault, NULL, err);
	}
	return r;
}

const char *model_graph_hash(const struct model *model)
{
	return model->graph.hash;
}

const char *model_layers_hash(const struct model *model)
{
	return model->graph.layers_hash;
}

const struct graph *model_graph(const struct model *model)
{
	return &model->graph;
}

uint64_t model_batch_rows(const struct model *model)
{
	return model->graph.batch_rows * (model->graph.parts > 1 ? model->share.count : 1);
}

/* Describes a column of whole batches, where the tensor has the rows of a micro-batch. */
static struct model_input describe_input(const struct model *model, const struct tensor *tensor)
{
	const uint64_t rows = model->graph.batch_rows, more = model_batch_rows(model) - rows;
	const bool values = tensor->splits != GRAPH_NO_TENSOR;
	const uint64_t of_row = tensor->rows || values ? tensor->bytes / rows : sizeof(int64_t);

	return (struct model_input){
		.name = tensor->name,
		.dtype = tensor->dtype == DTYPE_I64  ? CONFIG_INT64
			 : tensor->dtype == DTYPE_U8 ? CONFIG_UINT8
						     : CONFIG_FLOAT32,
		.row_bytes = values ? 0 : (tensor->rows ? tensor->elements : 1) * dtype_bytes(tensor->dtype),
		.bytes = tensor->bytes + more * of_row,
	};
}

uint32_t model_inputs(const struct model *model, struct model_input ret_inputs[static MODEL_INPUTS_MAX])
{
	const struct graph *graph = &model->graph;

	static_assert(MODEL_INPUTS_MAX == GRAPH_INPUTS_MAX, "each input of the graph is one of the batch");
	for (uint32_t i = 0; i < graph->inputs; i++)
		ret_inputs[i] = describe_input(model, graph_at(graph, graph->input[i]));
	return graph->inputs;
}

struct model_input model_label(const struct model *model)
{
	return describe_input(model, graph_at(&model->graph, model->graph.label));
}

struct model_input model_sample_weight(const struct model *model)
{
	const uint32_t weight = model->graph.weight;

	return weight == GRAPH_NO_TENSOR ? (struct model_input){ 0 }
					 : describe_input(model, graph_at(&model->graph, weight));
}

uint64_t model_classes(const struct model *model)
{
	return graph_at(&model->graph, model->graph.output)->elements;
}

const char *model_tensor_cores(const struct model *model)
{
	static const char *const names[] = { [TENSOR_CORES_NONE] = "none",
					     [TENSOR_CORES_WARPS] = "warps",
					     [TENSOR_CORES_WARP_GROUPS] = "warp groups" };

	return names[model->predict.tensor_cores];
}

uint64_t model_parameters(const struct model *model)
{
	return model->graph.parameters;
}
