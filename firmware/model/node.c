/* SPDX-License-Identifier: Apache-2.0 */
#include "model/node.h"

#include "core/base/nearest.h"
#include "model/graph/inputs.h"
#include "model/layers/attributes.h"
#include "model/layers/table.h"

#include <inttypes.h>
#include <string.h>

/* The largest parameter, in numbers: 256 TiB of float32. */
#define PARAMETER_MAX (UINT64_C(1) << 46)

/* Follows TensorFlow's rule for names, because the names of parameters and of exported nodes begin with the
 * name of their layer. "optimizer" and "state" begin the names of other tensors. */
static bool name_allowed(const char *name)
{
	return !strchr("_-", name[0]) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       strlen(name) &&
	       strcmp(name, "optimizer") != 0 && strcmp(name, "state") != 0;
}

/* Sets the name of a layer. Without a name in the configuration it is named after its op, as in Keras: dense,
 * dense_1, dense_2 ... */
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
	feature = config_feature_named(graph->config, node->name);
	if (layer->name[0] && !name_allowed(node->name))
		mistakes_add(mistakes, layer->line,
			     "model.layers.name: found \"%s\", allowed: letters, digits, _ - . (not _ or - "
			     "first), "
			     "and not \"optimizer\" or \"state\"",
			     node->name);
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!strcmp(graph->node[i].name, node->name) && node->op)
			mistakes_add(mistakes, layer->line,
				     "model.layers.name: found \"%s\", allowed: a name that no other layer "
				     "has; the layer on line %u has this name",
				     node->name, graph->node[i].line);
	if (feature && feature != graph_at(graph, graph->label)->feature)
		mistakes_add(mistakes, layer->line,
			     "model.layers.name: found \"%s\", allowed: a name that no feature has, because "
			     "`inputs` may contain both",
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
	*ret_tensor = graph_feature_input(graph, name);
	if (*ret_tensor != GRAPH_NO_TENSOR)
		return true;
	/* The name may be that of a layer with an unknown op. That mistake is noted already, so note no
	 * second one. */
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

/* Checks that the op can read an input. Accepts an input of unknown size: the mistake that made it unknown is
 * noted already. */
static bool check_input(const struct node *node, const struct tensor *input, struct mistakes *mistakes)
{
	const bool ragged = input->splits != GRAPH_NO_TENSOR;
	const enum dtype dtype = input->dtype == DTYPE_U8 ? DTYPE_F32 : input->dtype;

	if (!input->elements || (dtype == node->op->reads && ragged == node->op->ragged))
		return true;
	mistakes_add(mistakes, node->line, "model.layers.inputs: found '%s' of %s%s, allowed for %s: %s%s",
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
		mistakes_add(mistakes, node->line, "model.layers.inputs: found %u, allowed for %s: %u",
			     inputs, node->op->name, least);
	else
		mistakes_add(mistakes, node->line, "model.layers.inputs: found %u, allowed for %s: %u .. %u",
			     inputs, node->op->name, least, most);
	return false;
}

/* Sets the inputs of a node; after a mistake the node has no inputs. */
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
	const uint32_t last = node->inputs - 1;
	uint64_t size;

	switch (dimension->kind) {
	case DIM_INPUT_LAST:
		return tensor_last(
			graph_at(graph, node->input[dimension->item < last ? dimension->item : last]));
	case DIM_OUTPUT_LAST:
		return tensor_last(graph_at(graph, node->output));
	case DIM_ATTRIBUTE:
	case DIM_ATTRIBUTE_OR:
		size = (uint64_t)node->attribute[dimension->attribute].item[dimension->item];
		if (!size && dimension->kind == DIM_ATTRIBUTE_OR)
			size = (uint64_t)node->attribute[dimension->otherwise].item[0];
		return size * (dimension->times ? dimension->times : 1);
	case DIM_NUMBER:
		return dimension->times;
	case DIM_END:
		break;
	}
	return 0;
}

/* Returns whether the product of `elements` and all dimensions is at most `most`. */
static bool is_within(const struct tensor *tensor, uint64_t elements, uint64_t most)
{
	for (uint32_t i = 0; i < tensor->rank; i++)
		if (__builtin_mul_overflow(elements, tensor->shape[i], &elements) || elements > most)
			return false;
	return true;
}

/* Returns whether kernels read copies of parameters and inputs in 16 bits (plan/storage.h). */
static bool makes_copies(const struct graph *graph)
{
	return graph->config->model.precision != PRECISION_FLOAT32;
}

/* Checks that sums of the sizes of all parameters, their gradients and their slots fit 64 bits, and that the
 * kernel that copies a parameter can count its numbers. */
static void check_parameter(const struct graph *graph, const struct node *node,
			    const struct tensor *parameter, struct mistakes *mistakes)
{
	const uint64_t most = makes_copies(graph) ? UINT32_MAX : PARAMETER_MAX;
	char shape[SHAPE_TEXT_BYTES];

	if (!is_within(parameter, 1, most))
		mistakes_add(mistakes, node->line,
			     "model.layers: found %s of shape %s, allowed: at most %" PRIu64 " numbers",
			     parameter->name, shape_text(parameter, shape), most);
}

static const char *initializer_of(const struct node *node, uint32_t i)
{
	const struct parameter_spec *spec = &node->op->parameter[i];
	const char *initial = node->op->initial ? node->op->initial(node, i) : spec->initial;

	return initial ? initial : node->attribute[spec->initializer].s;
}

static void add_parameters(struct graph *graph, struct node *node, struct mistakes *mistakes)
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
		tensor.initializer = initializer_of(node, i);
		tensor.lazy =
			tensor.trainable && i == 0 && node->op->touched && graph->config->optimizer.lazy;
		tensor.l1 = node->l1[i];
		tensor.l2 = node->l2[i];
		(void)snprintf(tensor.name, sizeof(tensor.name), "%s/%s", node->name, spec->name);
		check_parameter(graph, node, &tensor, mistakes);
		node->parameter[i] = graph_tensor(graph, &tensor);
		node->parameters = i + 1;
		if (tensor.trainable)
			graph->parameters += graph_at(graph, node->parameter[i])->elements;
		else
			graph->frozen += graph_at(graph, node->parameter[i])->elements;
	}
}

/* Returns whether the output needs a gradient, that is whether this node or a node before it has a trainable
 * parameter. */
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

/* Checks that kernels can count the numbers of an input or output in 32 bits. */
static void check_size(const struct graph *graph, const struct node *node, const char *what,
		       const struct tensor *tensor, struct mistakes *mistakes)
{
	if (!is_within(tensor, graph->batch_rows, INT32_MAX))
		mistakes_add(mistakes, node->line,
			     "model.layers: found an %s of '%s' with more than %d numbers for %" PRIu64
			     " rows, allowed: at most %d",
			     what, node->name, INT32_MAX, graph->batch_rows, INT32_MAX);
}

/* Checks the inputs that a kernel copies; outputs of other layers were checked there. */
static void check_inputs(const struct graph *graph, const struct node *node, struct mistakes *mistakes)
{
	for (uint32_t i = 0; makes_copies(graph) && i < node->inputs; i++) {
		const struct tensor *input = graph_at(graph, node->input[i]);

		if (input->role == ROLE_INPUT && input->dtype == DTYPE_F32 && input->rows)
			check_size(graph, node, "input", input, mistakes);
	}
}

/* Sets the mask of the output, or refuses that of an input. */
static int pass_mask(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err)
{
	if (node->op->masking == MASKING_PASSES)
		return graph_common_mask(graph, node, &output->mask, err);
	for (uint32_t i = 0; node->op->masking == MASKING_REFUSED && i < node->inputs; i++) {
		const struct tensor *input = graph_at(graph, node->input[i]);

		if (input->mask != GRAPH_NO_TENSOR)
			return error_set(err, -EINVAL,
					 "found '%s' with the mask of '%s', allowed: no mask, because the "
					 "layer would read the steps that do not count",
					 input->name, graph_at(graph, input->mask)->name);
	}
	return 0;
}

static void check_shape(struct graph *graph, struct node *node, struct tensor *output,
			struct mistakes *mistakes)
{
	struct error err;

	if (node->op->shape(graph, node, output, &err) < 0 || pass_mask(graph, node, output, &err) < 0)
		mistakes_add(mistakes, node->line, "model.layers.inputs: layer '%s' (%s): %s", node->name,
			     node->op->name, err.text);
	else
		check_size(graph, node, "output", output, mistakes);
}

void graph_add_node(struct graph *graph, const struct config_layer *layer, struct mistakes *mistakes)
{
	struct node *node = &graph->node[graph->nodes];
	struct tensor output = { .role = ROLE_ACTIVATION, .arena = ARENA_WORK, .rows = true, .rank = 1 };
	char meant[NEAREST_TEXT_BYTES];

	for (uint32_t i = 0; i < GRAPH_PARAMETERS_MAX; i++)
		node->parameter[i] = GRAPH_NO_TENSOR;
	node->line = layer->line;
	node->trainable = true;
	node->op = layer->op ? op_find(layer->op) : NULL;
	if (layer->op && !node->op)
		mistakes_add(mistakes, layer->line, "model.layers.op: found \"%s\", allowed: %s%s", layer->op,
			     op_names(), op_meant(layer->op, meant));
	name_node(graph, node, layer, mistakes);
	if (node->op) {
		attributes_read(node, layer, mistakes);
		connect_node(graph, node, layer, mistakes);
	}
	if (inputs_known(graph, node)) {
		check_inputs(graph, node, mistakes);
		check_shape(graph, node, &output, mistakes);
	}
	(void)snprintf(output.name, sizeof(output.name), "%s", node->name);
	node->output = graph_tensor(graph, &output);
	if (graph_at(graph, node->output)->elements)
		add_parameters(graph, node, mistakes);
	graph->tensor[node->output]->trainable = depends_on_training(graph, node);
	graph->nodes++;
}
