/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph_parts.h"

#include "data/batch.h"
#include "model/adapt.h"
#include "model/layout.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/unread.h"

#include <inttypes.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t bytes;
} dtypes[] = {
	[DTYPE_F32] = { "F32", 4 }, [DTYPE_F16] = { "F16", 2 }, [DTYPE_BF16] = { "BF16", 2 },
	[DTYPE_I64] = { "I64", 8 }, [DTYPE_U32] = { "U32", 4 }, [DTYPE_U8] = { "U8", 1 },
};

uint32_t dtype_bytes(enum dtype dtype)
{
	return dtypes[dtype].bytes;
}

const char *dtype_name(enum dtype dtype)
{
	return dtypes[dtype].name;
}

uint32_t graph_tensor(struct graph *graph, const struct tensor *tensor)
{
	struct tensor *added;

	if (graph->tensors == graph->tensors_room) {
		graph->tensors_room = graph->tensors_room ? 2 * graph->tensors_room : 64;
		graph->tensor = realloc(graph->tensor, graph->tensors_room * sizeof(*graph->tensor));
		if (!graph->tensor)
			abort();
	}
	added = &graph->tensor[graph->tensors];
	*added = *tensor;
	added->gradient = GRAPH_NO_TENSOR;
	added->splits = tensor->splits ? tensor->splits : GRAPH_NO_TENSOR;
	added->offset = UINT64_MAX;
	added->constant = NULL;
	added->elements = 1;
	for (uint32_t i = 0; i < added->rank; i++)
		added->elements *= added->shape[i];
	added->bytes = added->elements * dtype_bytes(added->dtype) * (added->rows ? graph->batch_rows : 1);
	return graph->tensors++;
}

uint64_t tensor_outer(const struct tensor *tensor)
{
	uint64_t outer = 1;

	for (uint32_t i = 0; i + 1 < tensor->rank; i++)
		outer *= tensor->shape[i];
	return outer;
}

uint64_t tensor_last(const struct tensor *tensor)
{
	return tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
}

const char *shape_text(const struct tensor *tensor, char out[static SHAPE_TEXT_BYTES])
{
	size_t used = 0;

	for (uint32_t i = 0; i < tensor->rank; i++)
		used += (size_t)snprintf(out + used, SHAPE_TEXT_BYTES - used, "%s%" PRIu64, i ? ", " : "[",
					 tensor->shape[i]);
	(void)snprintf(out + used, SHAPE_TEXT_BYTES - used, tensor->rank ? "]" : "[]");
	return out;
}

/* ---- Features ---- */

const struct config_feature *graph_feature_named(const struct config *config, const char *name)
{
	for (uint32_t i = 0; name && i < config->features; i++)
		if (!strcmp(config->feature[i].name, name))
			return &config->feature[i];
	return NULL;
}

/* Without such a feature, which config_load() refuses: a tensor that nothing is known of. */
static struct tensor batch_tensor(const struct graph *graph, const char *name, enum role role)
{
	const struct config_feature *feature = graph_feature_named(graph->config, name);
	struct tensor tensor = {
		.role = role, .arena = ARENA_BATCH, .rows = true, .rank = 1, .feature = feature
	};

	if (feature) {
		tensor.dtype = feature->dtype == CONFIG_INT64 ? DTYPE_I64 : DTYPE_F32;
		tensor.rank = feature->rank;
		memcpy(tensor.shape, feature->shape, sizeof(tensor.shape));
	}
	(void)snprintf(tensor.name, sizeof(tensor.name), "%s", name ? name : "");
	return tensor;
}

static uint32_t note_input(struct graph *graph, const struct tensor *tensor)
{
	graph->input[graph->inputs] = graph_tensor(graph, tensor);
	return graph->input[graph->inputs++];
}

/* As it lies in the ring: the values of a ragged feature, and here behind them the splits that say whose they
 * are. */
static uint32_t ragged_input(struct graph *graph, const struct config_feature *feature)
{
	struct tensor values = batch_tensor(graph, feature->name, ROLE_INPUT);
	struct tensor splits = { .dtype = DTYPE_I64,
				 .role = ROLE_INPUT,
				 .arena = ARENA_BATCH,
				 .rank = 1,
				 .shape = { graph->batch_rows + 1 } };
	uint32_t of, splits_of;

	(void)snprintf(splits.name, sizeof(splits.name), "%s" BATCH_SPLITS, feature->name);
	(void)snprintf(values.name, sizeof(values.name), "%s" BATCH_VALUES, feature->name);
	values.rows = false;
	values.rank = 1;
	values.shape[0] = graph->batch_rows * feature->values_max;
	of = note_input(graph, &values);
	splits_of = note_input(graph, &splits);
	graph->tensor[of].splits = splits_of;
	return of;
}

uint32_t graph_feature_input(struct graph *graph, const char *name)
{
	const struct config_feature *feature = graph_feature_named(graph->config, name);
	struct tensor tensor;

	for (uint32_t i = 0; feature && i < graph->inputs; i++)
		if (graph_at(graph, graph->input[i])->feature == feature)
			return graph->input[i];
	if (!feature || feature == graph_at(graph, graph->label)->feature || feature->dtype == CONFIG_BYTES ||
	    graph->inputs + 2 > GRAPH_INPUTS_MAX)
		return GRAPH_NO_TENSOR;
	if (feature->values_max)
		return ragged_input(graph, feature);
	tensor = batch_tensor(graph, name, ROLE_INPUT);
	return note_input(graph, &tensor);
}

bool graph_takes_input(const struct config *config)
{
	const char *input = config->model.input;

	if (!input || !config->model.layers || !config->model.layer[0].inputs)
		return true;
	for (uint32_t i = 0; i < config->model.layers; i++)
		for (uint32_t j = 0; j < config->model.layer[i].inputs; j++)
			if (!strcmp(config->model.layer[i].input[j], input))
				return true;
	return false;
}

static void add_batch(struct graph *graph)
{
	const struct tensor label = batch_tensor(graph, graph->config->model.label, ROLE_LABEL),
			    empty = { .name = "empty", .dtype = DTYPE_U8, .role = ROLE_EMPTY, .rows = true },
			    unknown = batch_tensor(graph, NULL, ROLE_INPUT);

	const char *weight = graph->config->model.sample_weight;

	graph->label = graph_tensor(graph, &label);
	graph->empty = graph_tensor(graph, &empty);
	graph->weight = GRAPH_NO_TENSOR;
	if (weight && *weight) {
		const struct tensor of_rows = batch_tensor(graph, weight, ROLE_WEIGHT);

		graph->weight = graph_tensor(graph, &of_rows);
	}
	if (graph_takes_input(graph->config) &&
	    graph_feature_input(graph, graph->config->model.input) == GRAPH_NO_TENSOR)
		(void)note_input(graph, &unknown);
}

/* ---- All of it ---- */

static void find_tables(struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	const char *loss = config->model.loss, *optimizer = config->optimizer.name;

	graph->loss = loss ? loss_find(loss) : NULL;
	graph->optimizer = optimizer ? optimizer_find(optimizer) : NULL;
	if (loss && !graph->loss)
		mistakes_add(mistakes, config_line(config, "model.loss"),
			     "model.loss: found \"%.100s\", allowed: %s", loss, loss_names());
	optimizer_check(config, mistakes);
}

/* Everything but what needs it to be right: layout and hash. */
static void describe(struct graph *graph, struct mistakes *mistakes)
{
	find_tables(graph, mistakes);
	add_batch(graph);
	graph_add_layers(graph, mistakes);
	unread_check(graph, mistakes);
}

void graph_check(const struct config *config, struct mistakes *mistakes)
{
	struct graph graph = { .config = config, .training = true, .batch_rows = config->run.batch_rows };

	describe(&graph, mistakes);
	if (!mistakes->count)
		adapt_check(&graph, mistakes);
	graph_done(&graph);
}

int graph_build(const struct config *config, bool training, struct graph *ret_graph, struct error *err)
{
	struct graph graph = { .config = config, .training = training, .batch_rows = config->run.batch_rows };
	struct mistakes mistakes = { .file = config->file, .err = err };
	int rc = 0;

	describe(&graph, &mistakes);
	if (mistakes.count)
		rc = -EINVAL;
	if (rc == 0) {
		layout_state(&graph);
		rc = graph_set_hash(&graph, err);
	}
	if (rc < 0)
		graph_done(&graph);
	else
		*ret_graph = graph;
	return rc;
}

void graph_done(struct graph *graph)
{
	for (uint32_t i = 0; i < graph->tensors; i++)
		free(graph->tensor[i].constant);
	free(graph->tensor);
	free(graph->node);
	*graph = (struct graph){ 0 };
}
