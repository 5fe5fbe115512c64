/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state.h"
#include "model/graph/op.h"
#include "model/graph/random.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const enum role exported[] = { ROLE_PARAMETER, ROLE_STATE, ROLE_SLOT,
				      ROLE_STAT,      ROLE_SCALE, ROLE_COUNTER };

static void list(struct model *model, enum role role)
{
	for (uint32_t i = 0; i < model->graph.tensors; i++) {
		const struct tensor *tensor = graph_at(&model->graph, i);
		struct model_tensor *entry = &model->tensor[model->tensors];

		if (tensor->arena != ARENA_STATE || tensor->role != role)
			continue;
		*entry = (struct model_tensor){ .name = tensor->name,
						.dtype = dtype_name(tensor->dtype),
						.rank = tensor->rank,
						.bytes = tensor->bytes };
		memcpy(entry->shape, tensor->shape, sizeof(entry->shape));
		model->tensor_index[model->tensors++] = i;
	}
}

int state_open(struct model *model, struct error *err)
{
	const size_t count = model->graph.tensors;

	model->tensor = calloc(count, sizeof(*model->tensor));
	model->snapshot = calloc(count, sizeof(*model->snapshot));
	model->tensor_index = calloc(count, sizeof(*model->tensor_index));
	if (!model->tensor || !model->snapshot || !model->tensor_index)
		return error_set(err, -ENOMEM, "model: out of memory");
	for (size_t i = 0; i < sizeof(exported) / sizeof(*exported); i++)
		list(model, exported[i]);
	model->cursor.version = CURSOR_VERSION;
	return gpu_buffer_create(model->gpu, model->graph.arena_bytes[ARENA_STATE], &model->shadow, err);
}

void state_close(struct model *model)
{
	gpu_event_free(&model->copied);
	gpu_buffer_free(model->shadow);
	free(model->tensor);
	free(model->snapshot);
	free(model->tensor_index);
	free(model->gradients);
	free(model->gradient);
}

/* Returns the number of rows of a layer's table. Valid ids of the layer are less than this number. */
static uint64_t id_limit(const struct graph *graph, const struct node *node)
{
	return graph_at(graph, node->parameter[0])->shape[0];
}

static int64_t found_number(const struct fault *fault)
{
	return (int64_t)((uint64_t)fault->found_high << 32 | fault->found_low);
}

static int id_fault(const struct model *model, const struct fault *fault, struct error *err)
{
	const struct graph *graph = &model->graph;

	return error_set(err, -EDOM,
			 "step %u: row %u of the pass, %u of its batch: layer '%s': found id %" PRId64
			 ", allowed: 0 .. %" PRIu64,
			 fault->step, fault->row, fault->element, graph->node[fault->node].name,
			 found_number(fault), id_limit(graph, &graph->node[fault->node]) - 1);
}

static int label_fault(const struct model *model, const struct fault *fault, struct error *err)
{
	const struct graph *graph = &model->graph;
	const struct tensor *label = graph_at(graph, graph->label);
	char found[48], element[48] = "";
	float real;

	memcpy(&real, &fault->found_low, sizeof(real));
	if (label->dtype == DTYPE_I64)
		(void)snprintf(found, sizeof(found), "%" PRId64, found_number(fault));
	else
		(void)snprintf(found, sizeof(found), "%.9g", (double)real);
	if (label->elements > 1)
		(void)snprintf(element, sizeof(element), " in element %u", fault->node);
	return error_set(err, -EDOM,
			 "step %u: row %u of the pass, %u of its batch: label '%s': found %s%s, allowed: %s0 "
			 ".. %" PRIu64,
			 fault->step, fault->row, fault->element, label->name, found, element,
			 graph->loss->class_label ? "classes " : "", loss_label_limit(graph) - 1);
}

/* ---- Which number of a batch is NaN or infinite ---- */

static bool find_bad(const float *values, uint64_t count, uint64_t *ret_at)
{
	for (uint64_t i = 0; i < count; i++)
		if (!isfinite(values[i])) {
			*ret_at = i;
			return true;
		}
	return false;
}

/* Searches a tensor of the batch for a NaN or infinite float. For ragged values, `splits` says which values
 * belong to which row. */
static bool find_in(const struct graph *graph, uint32_t tensor, const void *host, const int64_t *splits,
		    const struct model_batch *batch, struct bad_number *ret_bad)
{
	const struct tensor *what = graph_at(graph, tensor);

	for (uint64_t row = 0; host && what->dtype == DTYPE_F32 && row < batch->rows; row++) {
		const uint64_t first = splits ? (uint64_t)splits[row] : row * what->elements,
			       count = splits ? (uint64_t)(splits[row + 1] - splits[row]) : what->elements;
		uint64_t at;

		/* Check the splits before use: another process may write their memory at any time. */
		if (splits && (first > what->elements || count > what->elements - first))
			continue;
		if ((batch->empty && batch->empty[row]) || !find_bad((const float *)host + first, count, &at))
			continue;
		*ret_bad = (struct bad_number){ .tensor = tensor,
						.row = row,
						.row_of_pass = batch->first_row +
							       order_batch_row(&batch->part, (uint32_t)row),
						.element = at,
						.found = ((const float *)host)[first + at] };
		return true;
	}
	return false;
}

struct bad_number state_bad_number(const struct graph *graph, const struct model_batch *batch)
{
	struct bad_number bad = { .tensor = GRAPH_NO_TENSOR };
	bool found = false;

	for (uint32_t i = 0; i < graph->inputs && !found; i++) {
		const bool ragged = graph_at(graph, graph->input[i])->splits != GRAPH_NO_TENSOR;

		found = find_in(graph, graph->input[i], batch->input[i], ragged ? batch->input[i + 1] : NULL,
				batch, &bad);
	}
	if (!found)
		found = find_in(graph, graph->label, batch->label, NULL, batch, &bad);
	if (!found && graph->weight != GRAPH_NO_TENSOR)
		(void)find_in(graph, graph->weight, batch->weight, NULL, batch, &bad);
	return bad;
}

/* Writes the end of an error's text, ", as ...", about the NaN or infinite number in the batch that was the
 * cause; writes "" if there is none. Returns `out`. */
static const char *cause_text(const struct graph *graph, const struct bad_number *bad, char *out, size_t size)
{
	*out = '\0';
	if (bad && bad->tensor != GRAPH_NO_TENSOR)
		(void)snprintf(out, size,
			       ", as '%s' holds %g in element %" PRIu64 " of row %" PRIu64
			       " of the pass, %" PRIu64 " of its batch",
			       graph_at(graph, bad->tensor)->name, (double)bad->found, bad->element,
			       bad->row_of_pass, bad->row);
	return out;
}

int state_fault(const struct model *model, const struct fault *fault, const struct bad_number *bad,
		struct error *err)
{
	const uint64_t at = (uint64_t)fault->element * sizeof(float);
	char cause[GRAPH_NAME_BYTES + 128];

	if (fault->what == FAULT_LABEL)
		return label_fault(model, fault, err);
	if (fault->what == FAULT_ID)
		return id_fault(model, fault, err);
	if (fault->what == FAULT_SCALE)
		return error_set(
			err, -EDOM,
			"step %u: a gradient is NaN or infinite even with a loss scale of 1, allowed: up "
			"to 65504, the largest float16; model.precision = \"mixed_bfloat16\" "
			"allows larger numbers",
			fault->step);
	(void)cause_text(&model->graph, bad, cause, sizeof(cause));
	for (uint32_t i = 0; fault->what == FAULT_PARAMETER && i < model->tensors; i++) {
		const struct tensor *tensor = graph_at(&model->graph, model->tensor_index[i]);

		if (tensor->trainable && at >= tensor->offset && at < tensor->offset + tensor->bytes)
			return error_set(
				err, -EDOM,
				"step %u: %s became NaN or infinite, first seen in element %" PRIu64 "%s",
				fault->step, tensor->name, (at - tensor->offset) / sizeof(float), cause);
	}
	return error_set(err, -EDOM, "step %u: the loss became NaN or infinite%s", fault->step, cause);
}

/* Writes mean and variance into the state of layers for which the configuration gives them. */
static void fill_given(const struct graph *graph, uint8_t *state)
{
	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct node *node = &graph->node[i];

		for (uint32_t k = 0; node->op->adapts && node->attribute[1].f > 0 && k < 2; k++) {
			const struct tensor *tensor = graph_at(graph, node->parameter[k]);
			float *numbers = (float *)(void *)(state + tensor->offset);

			for (uint64_t e = 0; e < tensor->elements; e++)
				numbers[e] = (float)node->attribute[k].f;
		}
	}
}

int model_init(struct model *model, struct error *err)
{
	const uint64_t bytes = model->graph.arena_bytes[ARENA_STATE];
	CLEANUP(free_ptr) uint8_t *state = calloc(1, bytes);

	if (!state)
		return error_set(err, -ENOMEM, "state of %" PRIu64 " bytes: out of memory", bytes);
	for (uint32_t i = 0; i < model->tensors; i++) {
		const struct tensor *tensor = graph_at(&model->graph, model->tensor_index[i]);

		if (tensor->initializer)
			initializer_fill(tensor->initializer, model->config->run.seed, tensor->name,
					 tensor->rank, tensor->shape, tensor->elements,
					 (float *)(void *)(state + tensor->offset));
		else if (tensor->constant)
			memcpy(state + tensor->offset, tensor->constant, tensor->bytes);
	}
	fill_given(&model->graph, state);
	model->step = 0;
	model->cursor = (struct cursor){ .version = CURSOR_VERSION };
	return gpu_write(model->gpu, model->arena[ARENA_STATE], 0, state, bytes, true, err);
}

/* ---- Snapshot ---- */

static int write_counters(struct model *model, struct error *err)
{
	const struct graph *graph = &model->graph;
	struct gpu_buffer *state = model->arena[ARENA_STATE];
	int r;

	model->counters = (struct counters){ .step = (int64_t)model->step, .cursor = model->cursor };
	r = gpu_write(model->gpu, state, graph_at(graph, graph->step)->offset, &model->counters.step,
		      sizeof(model->counters.step), false, err);
	if (r < 0)
		return r;
	return gpu_write(model->gpu, state, graph_at(graph, graph->cursor)->offset, &model->counters.cursor,
			 sizeof(model->counters.cursor), false, err);
}

int model_snapshot(struct model *model, struct error *err)
{
	int r;

	/* acquire, pairs with the release in model_snapshot_release(): the other thread no longer reads the
	 * shadow. */
	if (atomic_load_explicit(&model->snapshot_busy, memory_order_acquire))
		return error_set(err, -EBUSY, "snapshot: the last one is still being written");
	r = model->graph.training ? write_counters(model, err) : 0;
	if (r == 0)
		r = gpu_copy(model->gpu, model->arena[ARENA_STATE], model->shadow, &model->copied, err);
	if (r == 0)
		r = gpu_flush(model->gpu, err);
	if (r == 0)
		atomic_store_explicit(&model->snapshot_busy, true, memory_order_relaxed);
	return r;
}

int model_snapshot_tensors(struct model *model, const struct model_tensor **ret_tensors, uint32_t *ret_count,
			   struct error *err)
{
	const struct graph *graph = &model->graph;
	const void *host = NULL;
	const uint8_t *state;
	int r = gpu_buffer_fetch(model->gpu, model->shadow, &model->copied, &host, err);

	if (r < 0)
		return r;
	state = host;
	if (graph->training) {
		struct fault fault;

		memcpy(&fault, state + graph_at(graph, graph->fault)->offset, sizeof(fault));
		if (fault.what)
			return state_fault(model, &fault, NULL, err);
	}
	for (uint32_t i = 0; i < model->tensors; i++) {
		model->snapshot[i] = model->tensor[i];
		model->snapshot[i].data = state + graph_at(graph, model->tensor_index[i])->offset;
	}
	*ret_tensors = model->snapshot;
	*ret_count = model->tensors;
	return 0;
}

void model_snapshot_release(struct model *model)
{
	(void)(gpu_event_wait(&model->copied, NULL) < 0);
	gpu_event_free(&model->copied);
	/* release, pairs with the acquire in model_snapshot(). */
	atomic_store_explicit(&model->snapshot_busy, false, memory_order_release);
}

/* ---- Gradients ---- */

static int make_gradients(struct model *model, struct error *err)
{
	if (!model->gradients)
		model->gradients = malloc(model->graph.arena_bytes[ARENA_GRADIENT]);
	if (!model->gradient)
		model->gradient = calloc(model->tensors, sizeof(*model->gradient));
	if (!model->gradients || !model->gradient)
		return error_set(err, -ENOMEM, "gradients of %" PRIu64 " bytes: out of memory",
				 model->graph.arena_bytes[ARENA_GRADIENT]);
	return 0;
}

int model_gradients(struct model *model, const struct model_tensor **ret_tensors, uint32_t *ret_count,
		    struct error *err)
{
	const struct graph *graph = &model->graph;
	uint32_t count = 0;
	int r = make_gradients(model, err);

	if (r == 0 && model->trained)
		r = gpu_read(model->gpu, model->arena[ARENA_GRADIENT], 0, model->gradients,
			     graph->arena_bytes[ARENA_GRADIENT], NULL, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; model->trained && i < model->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, model->tensor_index[i]);

		if (tensor->role != ROLE_PARAMETER || tensor->gradient == GRAPH_NO_TENSOR)
			continue;
		model->gradient[count] = model->tensor[i];
		model->gradient[count++].data = model->gradients + graph_at(graph, tensor->gradient)->offset;
	}
	*ret_tensors = model->gradient;
	*ret_count = count;
	return 0;
}

/* ---- Tensors and counters ---- */

const struct model_tensor *model_tensors(const struct model *model, uint32_t *ret_count)
{
	*ret_count = model->tensors;
	return model->tensor;
}

int model_tensor_load(struct model *model, const char *name, const void *data, uint64_t bytes,
		      struct error *err)
{
	for (uint32_t i = 0; i < model->tensors; i++) {
		const uint32_t index = model->tensor_index[i];
		const struct tensor *tensor = graph_at(&model->graph, index);

		if (strcmp(tensor->name, name) != 0)
			continue;
		if (bytes != tensor->bytes)
			return error_set(err, -EBADMSG, "%s: found %" PRIu64 " bytes, expected %" PRIu64,
					 name, bytes, tensor->bytes);
		if (index == model->graph.step)
			memcpy(&model->step, data, sizeof(model->step));
		else if (index == model->graph.cursor)
			memcpy(&model->cursor, data, sizeof(model->cursor));
		return gpu_write(model->gpu, model->arena[ARENA_STATE], tensor->offset, data, bytes, true,
				 err);
	}
	return error_set(err, -ENOENT, "%s: the model has no such tensor", name);
}

void model_cursor_set(struct model *model, const struct cursor *cursor)
{
	model->cursor = *cursor;
}

void model_cursor_get(const struct model *model, struct cursor *ret_cursor)
{
	*ret_cursor = model->cursor;
}

uint64_t model_step(const struct model *model)
{
	return model->step;
}

double model_learning_rate(const struct model *model)
{
	return optimizer_rate(&model->graph, model->step ? model->step - 1 : 0);
}

void model_learning_rate_set(struct model *model, double rate)
{
	model->graph.reduced_rate = rate;
}
