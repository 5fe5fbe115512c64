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

/* Without such a feature, which config_load() refuses: a tensor that nothing is known of. */
static uint32_t batch_tensor(struct graph *graph, const char *name, enum role role, enum dtype dtype)
{
	const struct config *config = graph->config;
	struct tensor tensor = {
		.dtype = dtype, .role = role, .arena = ARENA_BATCH, .rows = true, .rank = 1
	};

	for (uint32_t i = 0; name && i < config->features; i++)
		if (!strcmp(config->feature[i].name, name)) {
			tensor.rank = config->feature[i].rank;
			memcpy(tensor.shape, config->feature[i].shape, sizeof(tensor.shape));
		}
	(void)snprintf(tensor.name, sizeof(tensor.name), "%s", name ? name : "");
	return graph_tensor(graph, &tensor);
}

/* ---- Nodes ---- */

static bool name_allowed(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       strlen(name) &&
	       strcmp(name, "optimizer") != 0 && strcmp(name, "state") != 0;
}

/* Keras's names: dense, dense_1, dense_2 ... by op. */
static void name_node(struct graph *graph, struct node *node, const struct config_layer *layer,
		      struct mistakes *mistakes)
{
	const char *op = layer->op ? layer->op : "";
	uint32_t same = 0;

	for (uint32_t i = 0; i < graph->nodes; i++)
		same += graph->node[i].op == node->op;
	if (layer->name[0])
		(void)snprintf(node->name, sizeof(node->name), "%s", layer->name);
	else if (same)
		(void)snprintf(node->name, sizeof(node->name), "%s_%u", op, same);
	else
		(void)snprintf(node->name, sizeof(node->name), "%s", op);
	if (!name_allowed(node->name))
		mistakes_add(mistakes, layer->line,
			     "model.layers.name: found \"%s\", allowed: letters, digits, _ - . and not "
			     "\"optimizer\" or \"state\"",
			     node->name);
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!strcmp(graph->node[i].name, node->name) && node->op)
			mistakes_add(mistakes, layer->line,
				     "model.layers.name: found \"%s\", allowed: another than line %u has",
				     node->name, graph->node[i].line);
}

static bool find_input(const struct graph *graph, const char *name, uint32_t *ret_tensor)
{
	bool unknown = false;

	*ret_tensor = graph->input;
	for (uint32_t i = 0; i < graph->nodes; i++) {
		unknown |= !graph->node[i].op;
		if (!strcmp(graph->node[i].name, name)) {
			*ret_tensor = graph->node[i].output;
			return true;
		}
	}
	/* It may be the one whose op is wrong, which names it. */
	return unknown || !strcmp(name, graph_at(graph, graph->input)->name);
}

/* After a mistake the node has no inputs. */
static void connect_node(const struct graph *graph, struct node *node, const struct config_layer *layer,
			 struct mistakes *mistakes)
{
	uint32_t inputs = layer->inputs ? layer->inputs : 1;

	if (inputs != node->op->inputs) {
		mistakes_add(mistakes, node->line, "model.layers.inputs: found %u, allowed of %s: %u", inputs,
			     node->op->name, node->op->inputs);
		return;
	}
	node->inputs = inputs;
	node->input[0] = graph->nodes ? graph->node[graph->nodes - 1].output : graph->input;
	for (uint32_t i = 0; i < layer->inputs; i++)
		if (!find_input(graph, layer->input[i], &node->input[i])) {
			mistakes_add(
				mistakes, node->line,
				"model.layers.inputs: found \"%.100s\", allowed: an earlier layer or \"%s\"",
				layer->input[i], graph_at(graph, graph->input)->name);
			node->inputs = 0;
		}
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

static void check_shape(struct graph *graph, struct node *node, struct tensor *output,
			struct mistakes *mistakes)
{
	struct error err;

	if (node->op->shape(graph, node, output, &err) < 0)
		mistakes_add(mistakes, node->line, "model.layers.inputs: %s", err.text);
}

/* A mistake leaves the output's size at 0: unknown, and nothing more is said of it. */
static void add_node(struct graph *graph, const struct config_layer *layer, struct mistakes *mistakes)
{
	struct node *node = &graph->node[graph->nodes];
	struct tensor output = { .role = ROLE_ACTIVATION, .arena = ARENA_WORK, .rows = true, .rank = 1 };

	for (uint32_t i = 0; i < GRAPH_PARAMETERS_MAX; i++)
		node->parameter[i] = GRAPH_NO_TENSOR;
	node->line = layer->line;
	node->op = layer->op ? op_find(layer->op) : NULL;
	if (layer->op && !node->op)
		mistakes_add(mistakes, layer->line, "model.layers.op: found \"%s\", allowed: %s", layer->op,
			     op_names());
	name_node(graph, node, layer, mistakes);
	if (node->op) {
		attributes_read(node, layer, mistakes);
		connect_node(graph, node, layer, mistakes);
	}
	if (node->inputs)
		check_shape(graph, node, &output, mistakes);
	(void)snprintf(output.name, sizeof(output.name), "%s", node->name);
	node->output = graph_tensor(graph, &output);
	if (node->inputs)
		add_parameters(graph, node);
	graph->nodes++;
}

static void check_consumers(const struct graph *graph, struct mistakes *mistakes)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!graph->node[i].inputs)
			return;
	for (uint32_t i = 0; i + 1 < graph->nodes; i++) {
		uint32_t consumers = 0;

		for (uint32_t j = i + 1; j < graph->nodes; j++)
			for (uint32_t k = 0; k < graph->node[j].inputs; k++)
				consumers += graph->node[j].input[k] == graph->node[i].output;
		if (!consumers)
			mistakes_add(
				mistakes, graph->node[i].line,
				"model.layers: found '%s', whose output no later layer takes, allowed: only "
				"the last",
				graph->node[i].name);
	}
}

static void check_output(struct graph *graph, struct mistakes *mistakes)
{
	const struct node *last = &graph->node[graph->nodes - 1];
	const struct tensor *label = graph_at(graph, graph->label), *output = graph_at(graph, last->output);

	graph->output = last->output;
	if (graph->loss && last->op && strcmp(last->op->name, graph->loss->output_op) != 0)
		mistakes_add(mistakes, last->line,
			     "model.layers.op: found \"%s\" as the last, allowed with loss %s: \"%s\"",
			     last->op->name, graph->loss->name, graph->loss->output_op);
	else if (label->elements && output->elements && label->elements != output->elements)
		mistakes_add(mistakes, last->line,
			     "model.layers: found %" PRIu64 " outputs, allowed: %" PRIu64
			     ", the classes of label '%s'",
			     output->elements, label->elements, label->name);
	check_consumers(graph, mistakes);
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

static void find_tables(struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	const char *loss = config->model.loss, *optimizer = config->optimizer.name;

	graph->loss = loss ? loss_find(loss) : NULL;
	graph->optimizer = optimizer ? optimizer_find(optimizer) : NULL;
	if (loss && !graph->loss)
		mistakes_add(mistakes, config_line(config, "model.loss"),
			     "model.loss: found \"%.100s\", allowed: %s", loss, loss_names());
	if (optimizer && !graph->optimizer)
		mistakes_add(mistakes, config_line(config, "optimizer.name"),
			     "optimizer.name: found \"%.100s\", allowed: %s", optimizer, optimizer_names());
}

/* Everything but what needs it to be right: layout and hash. */
static void describe(struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	const struct tensor empty = { .name = "empty", .dtype = DTYPE_U8, .role = ROLE_EMPTY, .rows = true };

	find_tables(graph, mistakes);
	graph->input = batch_tensor(graph, config->model.input, ROLE_INPUT, DTYPE_F32);
	graph->label = batch_tensor(graph, config->model.label, ROLE_LABEL, DTYPE_I64);
	graph->empty = graph_tensor(graph, &empty);
	graph->node = calloc(CONFIG_LAYERS_MAX, sizeof(*graph->node));
	if (!graph->node)
		abort(); /* as in graph_tensor() */
	for (uint32_t i = 0; i < config->model.layers; i++)
		add_node(graph, &config->model.layer[i], mistakes);
	if (graph->nodes)
		check_output(graph, mistakes);
}

void graph_check(const struct config *config, struct mistakes *mistakes)
{
	struct graph graph = { .config = config, .training = true };

	describe(&graph, mistakes);
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
		rc = hash_graph(&graph, err);
	}
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
