/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph.h"
#include "drivers/digest/digest.h"

#include "model/attributes.h"
#include "model/layout.h"
#include "model/losses.h"
#include "model/ops.h"
#include "model/optimizers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t bytes;
} dtypes[] = {
	[DTYPE_F32] = { "F32", 4 },
	[DTYPE_I64] = { "I64", 8 },
	[DTYPE_U32] = { "U32", 4 },
	[DTYPE_U8] = { "U8", 1 },
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
	added->offset = UINT64_MAX;
	added->elements = 1;
	for (uint32_t i = 0; i < added->rank; i++)
		added->elements *= added->shape[i];
	added->bytes = added->elements * dtype_bytes(added->dtype) * (added->rows ? graph->batch_rows : 1);
	return graph->tensors++;
}

/* ---- Features ---- */

static int batch_tensor(struct graph *graph, const char *key, const char *name, enum role role, int dtype,
			uint32_t *ret_tensor, struct error *err)
{
	static const char *const names[] = { "float32", "int64", "bytes" };
	const struct config *config = graph->config;
	struct tensor tensor = { .role = role, .arena = ARENA_BATCH, .rows = true };

	for (uint32_t i = 0; i < config->features; i++) {
		const struct config_feature *feature = &config->feature[i];

		if (strcmp(feature->name, name) != 0)
			continue;
		if (feature->dtype != dtype)
			return error_set(err, -EINVAL, "model.%s: feature '%s': found dtype %s, allowed: %s",
					 key, name, names[feature->dtype], names[dtype]);
		tensor.dtype = dtype == CONFIG_INT64 ? DTYPE_I64 : DTYPE_F32;
		tensor.rank = feature->rank;
		memcpy(tensor.shape, feature->shape, sizeof(tensor.shape));
		(void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
		*ret_tensor = graph_tensor(graph, &tensor);
		return 0;
	}
	return error_set(err, -EINVAL, "model.%s: found '%s', allowed: the name of a feature of the schema",
			 key, name);
}

/* ---- Nodes ---- */

/* Keras's names: dense, dense_1, dense_2 ... by op. */
static int name_node(struct graph *graph, struct node *node, const struct config_layer *layer,
		     struct error *err)
{
	uint32_t same = 0;

	node->line = layer->line;
	for (uint32_t i = 0; i < graph->nodes; i++)
		same += graph->node[i].op == node->op;
	if (strlen(layer->name) > GRAPH_LAYER_NAME_MAX)
		return error_set(err, -EINVAL,
				 "layer on line %u: name: found %zu characters, allowed: at most %u",
				 layer->line, strlen(layer->name), GRAPH_LAYER_NAME_MAX);
	if (layer->name[0])
		(void)snprintf(node->name, sizeof(node->name), "%s", layer->name);
	else if (same)
		(void)snprintf(node->name, sizeof(node->name), "%s_%u", node->op->name, same);
	else
		(void)snprintf(node->name, sizeof(node->name), "%s", node->op->name);
	if (strspn(node->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
		    strlen(node->name) ||
	    !strcmp(node->name, "optimizer") || !strcmp(node->name, "state"))
		return error_set(err, -EINVAL,
				 "layer on line %u: name: found '%s', allowed: letters, digits, '_', '-', "
				 "'.', and not "
				 "'optimizer' or 'state'",
				 layer->line, node->name);
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!strcmp(graph->node[i].name, node->name))
			return error_set(err, -EINVAL,
					 "layer on line %u: name: found '%s', which line %u has already",
					 layer->line, node->name, graph->node[i].line);
	return 0;
}

static int find_input(const struct graph *graph, const struct node *node, const char *name,
		      uint32_t *ret_tensor, struct error *err)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!strcmp(graph->node[i].name, name)) {
			*ret_tensor = graph->node[i].output;
			return 0;
		}
	if (!strcmp(name, graph_at(graph, graph->input)->name)) {
		*ret_tensor = graph->input;
		return 0;
	}
	return error_set(err, -EINVAL,
			 "layer '%s' (line %u): input: found '%s', allowed: an earlier layer or '%s'",
			 node->name, node->line, name, graph_at(graph, graph->input)->name);
}

static int connect_node(const struct graph *graph, struct node *node, const struct config_layer *layer,
			struct error *err)
{
	node->inputs = layer->inputs ? layer->inputs : 1;
	if (node->inputs != node->op->inputs)
		return error_set(err, -EINVAL, "layer '%s' (line %u): inputs: found %u, allowed of %s: %u",
				 node->name, node->line, node->inputs, node->op->name, node->op->inputs);
	if (!layer->inputs)
		node->input[0] = graph->nodes ? graph->node[graph->nodes - 1].output : graph->input;
	for (uint32_t i = 0; i < layer->inputs; i++) {
		int rc = find_input(graph, node, layer->input[i], &node->input[i], err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static void add_parameters(struct graph *graph, struct node *node)
{
	for (uint32_t i = 0; i < node->op->parameters; i++) {
		const struct parameter_spec *spec = &node->op->parameter[i];
		struct tensor tensor = { .role = ROLE_PARAMETER, .arena = ARENA_STATE, .trainable = true };

		if (spec->only_if >= 0 && !node->attribute[spec->only_if].b)
			continue;
		for (; spec->shape[tensor.rank] != DIM_END; tensor.rank++)
			tensor.shape[tensor.rank] = spec->shape[tensor.rank] == DIM_UNITS
							    ? graph_at(graph, node->output)->elements
							    : graph_at(graph, node->input[0])->elements;
		tensor.initializer = node->attribute[spec->initializer].s;
		(void)snprintf(tensor.name, sizeof(tensor.name), "%s/%s", node->name, spec->name);
		node->parameter[i] = graph_tensor(graph, &tensor);
		node->parameters = i + 1;
		graph->parameters += graph_at(graph, node->parameter[i])->elements;
	}
}

static int add_node(struct graph *graph, const struct config_layer *layer, struct error *err)
{
	struct node *node = &graph->node[graph->nodes];
	struct tensor output = { .role = ROLE_ACTIVATION, .arena = ARENA_WORK, .rows = true };
	int rc;

	for (uint32_t i = 0; i < GRAPH_PARAMETERS_MAX; i++)
		node->parameter[i] = GRAPH_NO_TENSOR;
	node->op = op_find(layer->op);
	if (!node->op)
		return error_set(err, -EINVAL, "layer on line %u: op: found '%s', allowed: %s", layer->line,
				 layer->op, op_names());
	rc = name_node(graph, node, layer, err);
	if (rc < 0)
		return rc;
	rc = attributes_read(node, layer, err);
	if (rc < 0)
		return rc;
	rc = connect_node(graph, node, layer, err);
	if (rc < 0)
		return rc;
	rc = node->op->shape(graph, node, &output, err);
	if (rc < 0)
		return error_prefix(err, "layer '%s' (line %u)", node->name, node->line);
	(void)snprintf(output.name, sizeof(output.name), "%s", node->name);
	node->output = graph_tensor(graph, &output);
	add_parameters(graph, node);
	graph->nodes++;
	return 0;
}

static int check_consumers(const struct graph *graph, struct error *err)
{
	for (uint32_t i = 0; i + 1 < graph->nodes; i++) {
		uint32_t consumers = 0;

		for (uint32_t j = i + 1; j < graph->nodes; j++)
			for (uint32_t k = 0; k < graph->node[j].inputs; k++)
				consumers += graph->node[j].input[k] == graph->node[i].output;
		if (!consumers)
			return error_set(err, -EINVAL,
					 "layer '%s' (line %u): no later layer takes its output",
					 graph->node[i].name, graph->node[i].line);
	}
	return 0;
}

static int check_output(struct graph *graph, struct error *err)
{
	const struct node *last = &graph->node[graph->nodes - 1];
	const struct tensor *label = graph_at(graph, graph->label), *output = graph_at(graph, last->output);

	graph->output = last->output;
	if (strcmp(last->op->name, graph->loss->output_op) != 0)
		return error_set(err, -EINVAL,
				 "layer '%s' (line %u): the last layer: found %s, allowed with loss %s: %s",
				 last->name, last->line, last->op->name, graph->loss->name,
				 graph->loss->output_op);
	if (label->elements != output->elements)
		return error_set(err, -EINVAL,
				 "layer '%s' (line %u): found %" PRIu64 " outputs, allowed: %" PRIu64
				 ", the classes of label '%s'",
				 last->name, last->line, output->elements, label->elements, label->name);
	return check_consumers(graph, err);
}

/* ---- Hash ---- */

struct text {
	char *at;
	size_t used, room;
};

static void append(struct text *text, const char *format, ...) PRINTF(2, 3);
static void append(struct text *text, const char *format, ...)
{
	va_list args;
	int bytes;

	va_start(args, format);
	bytes = vsnprintf(text->at + text->used, text->room - text->used, format, args);
	va_end(args);
	if (bytes > 0)
		text->used += (size_t)bytes;
	if (text->used >= text->room)
		abort(); /* hash_text() has room for the longest line of every node */
}

static void append_shape(struct text *text, const struct tensor *tensor)
{
	for (uint32_t i = 0; i < tensor->rank; i++)
		append(text, "%s%" PRIu64, i ? "x" : "", tensor->shape[i]);
}

static void append_node(struct text *text, const struct graph *graph, const struct node *node)
{
	append(text, "node %s %s", node->op->name, node->name);
	for (uint32_t i = 0; i < node->inputs; i++)
		append(text, " <%s", graph_at(graph, node->input[i])->name);
	for (uint32_t i = 0; i < node->op->attributes; i++)
		if (node->op->attribute[i].hashed)
			append(text, " %s=%" PRId64, node->op->attribute[i].key, node->attribute[i].i);
	append(text, " >");
	append_shape(text, graph_at(graph, node->output));
	append(text, "\n");
}

static int hash_graph(struct graph *graph, struct error *err)
{
	CLEANUP(free_ptr) char *room = NULL;
	struct text text = { .room = 4096 + (size_t)graph->nodes * 4096 };

	text.at = room = malloc(text.room);
	if (!room)
		return error_set(err, -ENOMEM, "graph hash: out of memory");
	append(&text, "kiln graph 1\ninput ");
	append_shape(&text, graph_at(graph, graph->input));
	append(&text, "\n");
	for (uint32_t i = 0; i < graph->nodes; i++)
		append_node(&text, graph, &graph->node[i]);
	append(&text, "loss %s\noptimizer %s slots %u\n", graph->loss->name, graph->optimizer->name,
	       graph->optimizer->slots(graph->config));
	digest_sha256(text.at, text.used, graph->hash);
	return 0;
}

/* ---- All of it ---- */

static int find_tables(struct graph *graph, struct error *err)
{
	const struct config *config = graph->config;

	graph->loss = loss_find(config->model.loss);
	if (!graph->loss)
		return error_set(err, -EINVAL, "model.loss: found '%s', allowed: %s", config->model.loss,
				 loss_names());
	graph->optimizer = optimizer_find(config->optimizer.name);
	if (!graph->optimizer)
		return error_set(err, -EINVAL, "optimizer.name: found '%s', allowed: %s",
				 config->optimizer.name, optimizer_names());
	if (!config->model.layers)
		return error_set(err, -EINVAL, "model.layers: found none, allowed: at least 1");
	graph->node = calloc(config->model.layers, sizeof(*graph->node));
	return graph->node ? 0 : error_set(err, -ENOMEM, "graph: out of memory");
}

static int build(struct graph *graph, struct error *err)
{
	const struct config *config = graph->config;
	const struct tensor empty = { .name = "empty", .dtype = DTYPE_U8, .role = ROLE_EMPTY, .rows = true };
	int rc = find_tables(graph, err);

	if (rc < 0)
		return rc;
	rc = batch_tensor(graph, "input", config->model.input, ROLE_INPUT, CONFIG_FLOAT32, &graph->input,
			  err);
	if (rc < 0)
		return rc;
	rc = batch_tensor(graph, "label", config->model.label, ROLE_LABEL, CONFIG_INT64, &graph->label, err);
	if (rc < 0)
		return rc;
	graph->empty = graph_tensor(graph, &empty);
	for (uint32_t i = 0; i < config->model.layers; i++) {
		rc = add_node(graph, &config->model.layer[i], err);
		if (rc < 0)
			return rc;
	}
	rc = check_output(graph, err);
	if (rc < 0)
		return rc;
	layout_state(graph);
	return hash_graph(graph, err);
}

int graph_build(const struct config *config, bool training, struct graph *ret_graph, struct error *err)
{
	struct graph graph = { .config = config, .training = training, .batch_rows = config->run.batch_rows };
	int rc = build(&graph, err);

	if (rc < 0)
		graph_done(&graph);
	else
		*ret_graph = graph;
	return rc;
}

void graph_done(struct graph *graph)
{
	free(graph->tensor);
	free(graph->node);
	*graph = (struct graph){ 0 };
}
