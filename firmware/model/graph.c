/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph.h"

#include "data/batch.h"
#include "drivers/digest/digest.h"
#include "model/attributes.h"
#include "model/layout.h"
#include "model/losses.h"
#include "model/ops.h"
#include "model/optimizers.h"
#include "model/unread.h"
#include "model/weights.h"

#include <inttypes.h>
#include <stdarg.h>
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

static const struct config_feature *feature_named(const struct config *config, const char *name)
{
	for (uint32_t i = 0; name && i < config->features; i++)
		if (!strcmp(config->feature[i].name, name))
			return &config->feature[i];
	return NULL;
}

/* Without such a feature, which config_load() refuses: a tensor that nothing is known of. */
static struct tensor batch_tensor(const struct graph *graph, const char *name, enum role role)
{
	const struct config_feature *feature = feature_named(graph->config, name);
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

/* A feature as a graph input, noted at its first use. GRAPH_NO_TENSOR: no such feature, or the label. */
static uint32_t feature_input(struct graph *graph, const char *name)
{
	const struct config_feature *feature = feature_named(graph->config, name);
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
	    feature_input(graph, graph->config->model.input) == GRAPH_NO_TENSOR)
		(void)note_input(graph, &unknown);
}

/* ---- Nodes ---- */

/* TensorFlow's rule, for the name comes first in those of its parameters and of exported nodes. */
static bool name_allowed(const char *name)
{
	return !strchr("_-", name[0]) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       strlen(name) &&
	       strcmp(name, "optimizer") != 0 && strcmp(name, "state") != 0;
}

/* Keras's names: dense, dense_1, dense_2 ... by op. */
static void name_node(struct graph *graph, struct node *node, const struct config_layer *layer,
		      struct mistakes *mistakes)
{
	const char *op = layer->op ? layer->op : "";
	const struct config_feature *feature;
	uint32_t same = 0;

	for (uint32_t i = 0; i < graph->nodes; i++)
		same += graph->node[i].op == node->op && !graph->node[i].is_activation;
	if (layer->name[0])
		(void)snprintf(node->name, sizeof(node->name), "%s", layer->name);
	else if (same)
		(void)snprintf(node->name, sizeof(node->name), "%s_%u", op, same);
	else
		(void)snprintf(node->name, sizeof(node->name), "%s", op);
	feature = feature_named(graph->config, node->name);
	if (layer->name[0] && !name_allowed(node->name))
		mistakes_add(mistakes, layer->line,
			     "model.layers.name: found \"%s\", allowed: letters, digits, _ - . (not _ or - "
			     "first), "
			     "and not \"optimizer\" or \"state\"",
			     node->name);
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!strcmp(graph->node[i].name, node->name) && node->op)
			mistakes_add(mistakes, layer->line,
				     "model.layers.name: found \"%s\", allowed: another than line %u has",
				     node->name, graph->node[i].line);
	if (feature && feature != graph_at(graph, graph->label)->feature)
		mistakes_add(mistakes, layer->line,
			     "model.layers.name: found \"%s\", allowed: another than a feature has, so that "
			     "inputs are of one meaning",
			     node->name);
}

static bool find_input(struct graph *graph, const char *name, uint32_t *ret_tensor)
{
	uint32_t unknown = GRAPH_NO_TENSOR;

	for (uint32_t i = 0; i < graph->nodes; i++) {
		if (!graph->node[i].op)
			unknown = graph->node[i].output;
		if (!strcmp(graph->node[i].name, name)) {
			*ret_tensor = graph->node[i + (graph->node[i].activation != NULL)].output;
			return true;
		}
	}
	*ret_tensor = feature_input(graph, name);
	if (*ret_tensor != GRAPH_NO_TENSOR)
		return true;
	/* It may be the one whose op is wrong, which names it. */
	*ret_tensor = unknown;
	return unknown != GRAPH_NO_TENSOR;
}

static void refuse_input(const struct graph *graph, const struct node *node, const char *name,
			 struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	char features[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < config->features && used < sizeof(features); i++)
		if (&config->feature[i] != graph_at(graph, graph->label)->feature &&
		    config->feature[i].dtype != CONFIG_BYTES)
			used += (size_t)snprintf(features + used, sizeof(features) - used, "%s\"%s\"",
						 used ? ", " : "", config->feature[i].name);
	mistakes_add(mistakes, node->line,
		     "model.layers.inputs: found \"%.100s\", allowed: an earlier layer or a feature, %s",
		     name, features);
}

/* What the op can read. Nothing is said of what is not known. */
static bool check_input(const struct node *node, const struct tensor *input, struct mistakes *mistakes)
{
	const bool ragged = input->splits != GRAPH_NO_TENSOR;

	if (!input->elements || (input->dtype == node->op->reads && ragged == node->op->ragged))
		return true;
	mistakes_add(mistakes, node->line, "model.layers.inputs: found '%s' of %s%s, allowed of %s: %s%s",
		     input->name, ragged ? "ragged " : "", dtype_name(input->dtype), node->op->name,
		     node->op->ragged ? "ragged " : "", dtype_name(node->op->reads));
	return false;
}

static bool count_inputs(const struct node *node, uint32_t inputs, struct mistakes *mistakes)
{
	const uint32_t least = node->op->inputs, most = node->op->inputs_max ? node->op->inputs_max : least;

	if (inputs >= least && inputs <= most)
		return true;
	if (least == most)
		mistakes_add(mistakes, node->line, "model.layers.inputs: found %u, allowed of %s: %u", inputs,
			     node->op->name, least);
	else
		mistakes_add(mistakes, node->line, "model.layers.inputs: found %u, allowed of %s: %u .. %u",
			     inputs, node->op->name, least, most);
	return false;
}

/* After a mistake the node has no inputs. */
static void connect_node(struct graph *graph, struct node *node, const struct config_layer *layer,
			 struct mistakes *mistakes)
{
	const uint32_t inputs = layer->inputs ? layer->inputs : 1;

	if (!count_inputs(node, inputs, mistakes))
		return;
	node->inputs = inputs;
	node->input[0] = graph->nodes ? graph->node[graph->nodes - 1].output : graph->input[0];
	for (uint32_t i = 0; i < layer->inputs; i++)
		if (!find_input(graph, layer->input[i], &node->input[i])) {
			refuse_input(graph, node, layer->input[i], mistakes);
			node->inputs = 0;
		}
	for (uint32_t i = 0; i < node->inputs; i++)
		if (!check_input(node, graph_at(graph, node->input[i]), mistakes))
			node->inputs = 0;
}

static uint64_t dimension_of(const struct graph *graph, const struct node *node,
			     const struct dimension *dimension)
{
	switch (dimension->kind) {
	case DIM_INPUT_LAST:
		return tensor_last(graph_at(graph, node->input[0]));
	case DIM_OUTPUT_LAST:
		return tensor_last(graph_at(graph, node->output));
	case DIM_ATTRIBUTE:
		return (uint64_t)node->attribute[dimension->attribute].item[dimension->item];
	case DIM_END:
		break;
	}
	return 0;
}

static void add_parameters(struct graph *graph, struct node *node)
{
	for (uint32_t i = 0; i < node->op->parameters; i++) {
		const struct parameter_spec *spec = &node->op->parameter[i];
		struct tensor tensor = { .role = spec->state ? ROLE_STATE : ROLE_PARAMETER,
					 .arena = ARENA_STATE,
					 .trainable = !spec->state && node->trainable };

		if (spec->only_if >= 0 && !node->attribute[spec->only_if].b)
			continue;
		for (; spec->shape[tensor.rank].kind != DIM_END; tensor.rank++)
			tensor.shape[tensor.rank] = dimension_of(graph, node, &spec->shape[tensor.rank]);
		tensor.initializer = spec->initial ? spec->initial : node->attribute[spec->initializer].s;
		tensor.lazy =
			tensor.trainable && i == 0 && node->op->touched && graph->config->optimizer.lazy;
		tensor.l1 = node->l1[i];
		tensor.l2 = node->l2[i];
		(void)snprintf(tensor.name, sizeof(tensor.name), "%s/%s", node->name, spec->name);
		node->parameter[i] = graph_tensor(graph, &tensor);
		node->parameters = i + 1;
		if (tensor.trainable)
			graph->parameters += graph_at(graph, node->parameter[i])->elements;
		else
			graph->frozen += graph_at(graph, node->parameter[i])->elements;
	}
}

/* Freeze: what no trainable parameter lies below has no gradient. */
static bool depends_on_training(const struct graph *graph, const struct node *node)
{
	for (uint32_t i = 0; i < node->inputs; i++)
		if (graph_at(graph, node->input[i])->trainable)
			return true;
	for (uint32_t i = 0; i < node->parameters; i++)
		if (node->parameter[i] != GRAPH_NO_TENSOR && graph_at(graph, node->parameter[i])->trainable)
			return true;
	return false;
}

static bool inputs_known(const struct graph *graph, const struct node *node)
{
	for (uint32_t i = 0; i < node->inputs; i++)
		if (!graph_at(graph, node->input[i])->elements)
			return false;
	return node->inputs > 0;
}

/* Kernels count in 32 bits. */
static void check_size(const struct graph *graph, const struct node *node, const struct tensor *output,
		       struct mistakes *mistakes)
{
	uint64_t elements = graph->batch_rows;

	for (uint32_t i = 0; i < output->rank; i++)
		if (__builtin_mul_overflow(elements, output->shape[i], &elements) || elements > INT32_MAX) {
			mistakes_add(
				mistakes, node->line,
				"model.layers: found more than %d numbers in the output of '%s' for %" PRIu64
				" rows, allowed: so many",
				INT32_MAX, node->name, graph->batch_rows);
			return;
		}
}

static void check_shape(struct graph *graph, struct node *node, struct tensor *output,
			struct mistakes *mistakes)
{
	struct error err;

	if (node->op->shape(graph, node, output, &err) < 0)
		mistakes_add(mistakes, node->line, "model.layers.inputs: layer '%s' (%s): %s", node->name,
			     node->op->name, err.text);
	else
		check_size(graph, node, output, mistakes);
}

/* A mistake leaves the output's size at 0: unknown, and nothing more is said of it. */
static void add_node(struct graph *graph, const struct config_layer *layer, struct mistakes *mistakes)
{
	struct node *node = &graph->node[graph->nodes];
	struct tensor output = { .role = ROLE_ACTIVATION, .arena = ARENA_WORK, .rows = true, .rank = 1 };

	for (uint32_t i = 0; i < GRAPH_PARAMETERS_MAX; i++)
		node->parameter[i] = GRAPH_NO_TENSOR;
	node->line = layer->line;
	node->trainable = true;
	node->op = layer->op ? op_find(layer->op) : NULL;
	if (layer->op && !node->op)
		mistakes_add(mistakes, layer->line, "model.layers.op: found \"%s\", allowed: %s", layer->op,
			     op_names());
	name_node(graph, node, layer, mistakes);
	if (node->op) {
		attributes_read(node, layer, mistakes);
		connect_node(graph, node, layer, mistakes);
	}
	if (inputs_known(graph, node))
		check_shape(graph, node, &output, mistakes);
	(void)snprintf(output.name, sizeof(output.name), "%s", node->name);
	node->output = graph_tensor(graph, &output);
	if (graph_at(graph, node->output)->elements)
		add_parameters(graph, node);
	graph->tensor[node->output].trainable = depends_on_training(graph, node);
	graph->nodes++;
}

/* The node behind the last that its `activation` asks for. */
static void add_activation(struct graph *graph, struct mistakes *mistakes)
{
	const struct node *node = &graph->node[graph->nodes - 1];
	struct config_layer layer = { .op = node->activation, .line = node->line };
	char name[GRAPH_LAYER_NAME_MAX + sizeof("_activation")];

	if (!layer.op)
		return;
	(void)snprintf(name, sizeof(name), "%s_activation", node->name);
	layer.name = name;
	graph->node[graph->nodes].is_activation = true;
	add_node(graph, &layer, mistakes);
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

	graph->output = last->output;
	loss_check(graph, mistakes);
	optimizer_check_parameters(graph, mistakes);
	weights_check(graph, mistakes);
	check_consumers(graph, mistakes);
	if (!mistakes->count && !graph->parameters)
		mistakes_add(mistakes, last->line,
			     "model.layers: found nothing to learn, allowed: a layer whose parameters are "
			     "not frozen");
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

static void append_attribute(struct text *text, const struct attribute_spec *spec,
			     const struct attribute *attribute)
{
	append(text, " %s=", spec->key);
	switch (spec->kind) {
	case ATTRIBUTE_IS_INT:
	case ATTRIBUTE_IS_BOOL:
		append(text, "%" PRId64, attribute->i);
		break;
	case ATTRIBUTE_IS_FLOAT:
		append(text, "%.17g", attribute->f);
		break;
	case ATTRIBUTE_IS_NAME:
		append(text, "%s", attribute->s);
		break;
	case ATTRIBUTE_IS_INTS:
		for (uint32_t i = 0; i < attribute->items; i++)
			append(text, "%s%" PRId64, i ? "x" : "", attribute->item[i]);
		break;
	}
}

static void append_node(struct text *text, const struct graph *graph, const struct node *node)
{
	append(text, "node %s %s", node->op->name, node->name);
	for (uint32_t i = 0; i < node->inputs; i++)
		append(text, " <%s", graph_at(graph, node->input[i])->name);
	for (uint32_t i = 0; i < node->op->attributes; i++)
		if (node->op->attribute[i].hashed)
			append_attribute(text, &node->op->attribute[i], &node->attribute[i]);
	if (!node->trainable)
		append(text, " frozen");
	append(text, " >");
	append_shape(text, graph_at(graph, node->output));
	append(text, "\n");
}

/* Those besides model.input, and that one where it is no plain float32: values of a ragged feature by its
 * name, as their number is the batch's. */
static void append_other_inputs(struct text *text, const struct graph *graph)
{
	for (uint32_t i = 0; i < graph->inputs; i++) {
		const struct tensor *input = graph_at(graph, graph->input[i]);

		if (i == 0 && input->dtype == DTYPE_F32 && input->rows)
			continue;
		append(text, "input %s %s ", input->name, dtype_name(input->dtype));
		if (input->rows)
			append_shape(text, input);
		append(text, "\n");
	}
}

static int hash_graph(struct graph *graph, struct error *err)
{
	CLEANUP(free_ptr) char *room = NULL;
	struct text text = { .room = 4096 + (size_t)graph->nodes * 4096 };

	text.at = room = malloc(text.room);
	if (!room)
		return error_set(err, -ENOMEM, "graph hash: out of memory");
	append(&text, "kiln graph 1\ninput ");
	if (graph_at(graph, graph->input[0])->rows)
		append_shape(&text, graph_at(graph, graph->input[0]));
	append(&text, "\n");
	append_other_inputs(&text, graph);
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
	optimizer_check(config, mistakes);
}

/* Everything but what needs it to be right: layout and hash. */
static void describe(struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;

	find_tables(graph, mistakes);
	add_batch(graph);
	graph->node = calloc(2 * CONFIG_LAYERS_MAX, sizeof(*graph->node)); /* each with its activation */
	if (!graph->node)
		abort(); /* as in graph_tensor() */
	for (uint32_t i = 0; i < config->model.layers; i++) {
		add_node(graph, &config->model.layer[i], mistakes);
		add_activation(graph, mistakes);
	}
	if (graph->nodes)
		check_output(graph, mistakes);
	unread_check(graph, mistakes);
}

void graph_check(const struct config *config, struct mistakes *mistakes)
{
	struct graph graph = { .config = config, .training = true, .batch_rows = config->run.batch_rows };

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
	for (uint32_t i = 0; i < graph->tensors; i++)
		free(graph->tensor[i].constant);
	free(graph->tensor);
	free(graph->node);
	*graph = (struct graph){ 0 };
}
