/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/trained/operand.h"
#include "cli/verbs/verbs.h"
#include "core/base/json.h"
#include "model/build.h"
#include "model/layers/attributes.h"
#include "model/layers/table.h"
#include "model/plan/storage.h"
#include "trained/locate.h"
#include "trained/trained.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_BYTES 256u

static uint64_t parameters_of(const struct graph *graph, const struct node *node, bool trainable_alone)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < node->parameters; i++)
		if (node->parameter[i] != GRAPH_NO_TENSOR &&
		    (!trainable_alone || graph_at(graph, node->parameter[i])->trainable))
			sum += graph_at(graph, node->parameter[i])->elements;
	return sum;
}

/* Returns the name of the layer or feature that produces this input of a layer. A layer and its `activation`
 * are two nodes with one name, the layer's. A ragged feature has several tensors, which all get the feature's
 * name. */
static const char *input_name(const struct graph *graph, uint32_t tensor)
{
	const struct tensor *input = graph_at(graph, tensor);

	for (uint32_t i = 1; i < graph->nodes; i++)
		if (graph->node[i].output == tensor && graph->node[i].is_activation)
			return graph->node[i - 1].name;
	return input->feature ? input->feature->name : input->name;
}

static bool is_chain(const struct graph *graph)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (graph->node[i].inputs != 1 ||
		    graph->node[i].input[0] != (i ? graph->node[i - 1].output : graph->input[0]))
			return false;
	return true;
}

/* ---- For people ---- */

static const char *with_commas(uint64_t number, char out[static 32])
{
	char digits[24];
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, number), used = 0;

	for (int i = 0; i < count; i++) {
		out[used++] = digits[i];
		if ((count - i) % 3 == 1 && i + 1 < count)
			out[used++] = ',';
	}
	out[used] = '\0';
	return out;
}

static const char *shape_of(const struct tensor *tensor, char out[static TEXT_BYTES])
{
	size_t used = (size_t)snprintf(out, TEXT_BYTES, "(None");

	for (uint32_t i = 0; i < tensor->rank; i++)
		used += (size_t)snprintf(out + used, TEXT_BYTES - used, ", %" PRIu64, tensor->shape[i]);
	(void)snprintf(out + used, TEXT_BYTES - used, ")");
	return out;
}

static const char *inputs_of(const struct graph *graph, const struct node *node, char out[static TEXT_BYTES])
{
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < node->inputs && used < TEXT_BYTES; i++)
		used += (size_t)snprintf(out + used, TEXT_BYTES - used, "%s%s", i ? ", " : "",
					 input_name(graph, node->input[i]));
	return out;
}

/* Prints a count of float32 numbers and their size, with the units that Keras prints. */
static void print_total(const char *what, uint64_t numbers)
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB" };
	double size = (double)numbers * sizeof(float);
	size_t unit = 0;
	char text[32];

	for (; size >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		size /= 1024;
	printf("%s: %s (%.2f %s)\n", what, with_commas(numbers, text), size, units[unit]);
}

static const char *layer_of(const struct node *node, char out[static TEXT_BYTES])
{
	(void)snprintf(out, TEXT_BYTES, "%s (%s)", node->name, node->op->name);
	return out;
}

/* Returns the width of the column with the layers' names. */
static int layer_width(const struct graph *graph)
{
	char layer[TEXT_BYTES];
	int width = 40;

	for (uint32_t i = 0; i < graph->nodes; i++) {
		const int bytes = (int)strlen(layer_of(&graph->node[i], layer));

		if (!graph->node[i].is_activation && bytes > width)
			width = bytes;
	}
	return width;
}

static void print_text(const struct graph *graph)
{
	const bool chain = is_chain(graph);
	const int width = layer_width(graph);

	printf("Model: \"%s\"\n", graph->config->run.name);
	if (graph->storage != DTYPE_F32)
		printf("Precision: %s\n", storage_policy(graph->config));
	printf("%-*s %-28s %15s%s\n", width, "Layer (type)", "Output Shape", "Param #",
	       chain ? "" : "  Connected to");
	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct node *node = &graph->node[i];
		char layer[TEXT_BYTES], shape[TEXT_BYTES], inputs[TEXT_BYTES], number[32];

		if (node->is_activation)
			continue;
		printf("%-*s %-28s %15s", width, layer_of(node, layer),
		       shape_of(graph_at(graph, node->output), shape),
		       with_commas(parameters_of(graph, node, false), number));
		if (!chain)
			printf("  %s", inputs_of(graph, node, inputs));
		putchar('\n');
	}
	print_total("Total params", graph->parameters + graph->frozen);
	print_total("Trainable params", graph->parameters);
	print_total("Non-trainable params", graph->frozen);
}

/* ---- For programs ---- */

static cJSON *json_layer(const struct graph *graph, const struct node *node)
{
	const struct tensor *output = graph_at(graph, node->output);
	cJSON *layer = cJSON_CreateObject(), *list;

	cJSON_AddStringToObject(layer, "name", node->name);
	cJSON_AddStringToObject(layer, "type", node->op->name);
	list = cJSON_AddArrayToObject(layer, "output_shape");
	cJSON_AddItemToArray(list, cJSON_CreateNull());
	for (uint32_t i = 0; i < output->rank; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber((double)output->shape[i]));
	(void)json_add_u64(layer, "params", parameters_of(graph, node, false));
	(void)json_add_u64(layer, "trainable_params", parameters_of(graph, node, true));
	list = cJSON_AddArrayToObject(layer, "inputs");
	for (uint32_t i = 0; i < node->inputs; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(input_name(graph, node->input[i])));
	return layer;
}

static int print_json(const struct graph *graph)
{
	CLEANUP(json_free) cJSON *model = cJSON_CreateObject();
	cJSON *layers;

	cJSON_AddStringToObject(model, "name", graph->config->run.name);
	cJSON_AddStringToObject(model, "precision", storage_policy(graph->config));
	layers = cJSON_AddArrayToObject(model, "layers");
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!graph->node[i].is_activation)
			cJSON_AddItemToArray(layers, json_layer(graph, &graph->node[i]));
	(void)json_add_u64(model, "total_params", graph->parameters + graph->frozen);
	(void)json_add_u64(model, "trainable_params", graph->parameters);
	(void)json_add_u64(model, "non_trainable_params", graph->frozen);
	cJSON_AddStringToObject(model, "graph_hash", graph->hash);
	return cli_print_json(model);
}

/* ---- The verb ---- */

struct summary {
	struct trained trained;
	struct config file;
	struct graph graph;
};

/* Builds the network of a trained model or, where the operand cannot be one, of a configuration file. */
static int build(struct summary *summary, const struct arguments *arguments, struct error *err)
{
	const char *name = arguments_operand(arguments, 0);
	int r;

	if (name && locate_is_model(name)) {
		r = operand_read(arguments, &summary->trained, err);
		if (r == 0)
			r = trained_load(&summary->trained, err);
		return r < 0 ? r : graph_build(&summary->trained.saved.config, true, &summary->graph, err);
	}
	r = config_load(name ? name : config_path(0, NULL), &summary->file, err);
	return r < 0 ? r : graph_build(&summary->file, true, &summary->graph, err);
}

static void done(struct summary *summary)
{
	graph_done(&summary->graph);
	config_done(&summary->file);
	trained_done(&summary->trained);
}

static int summary(const struct arguments *arguments)
{
	CLEANUP(done) struct summary summary = { 0 };
	struct error err = { 0 };

	if (build(&summary, arguments, &err) < 0)
		return cli_error(&err);
	if (arguments_have(arguments, "json"))
		return print_json(&summary.graph);
	print_text(&summary.graph);
	return CLI_OK;
}

static const struct verb_operand optional_file[] = {
	{ .name = "FILE", .value = VERB_LOCATION, .optional = true },
	{ 0 },
};

static const struct verb_option json_option[] = { { .name = "json", .help = "print one JSON object" },
						  { 0 } };

static const struct verb model_summary = {
	.name = "summary",
	.summary = "print the layers of a network, as Keras's summary() prints them",
	.synopsis = "model summary [FILE] [--json]\n"
		    "model summary MODEL [OPTION...]",
	.about = "Prints for each layer: name and type, shape of the output (None stands for the rows of a "
		 "batch), number of parameters, and the layers that it reads, unless it reads only the layer "
		 "before it.\n\n"
		 "FILE is a configuration. Without FILE the verb reads the box's own configuration: the file "
		 "that KILN_CONFIG names, or else /etc/kiln/kiln.conf below the folder KILN_ROOT.\n\n"
		 "" OPERAND_MODEL,
	.operands = optional_file,
	.options = { operand_options, where_options, json_option },
	.run = summary,
};

static int layers(const struct arguments *arguments)
{
	const char *name = arguments_operand(arguments, 0);
	char meant[NEAREST_TEXT_BYTES];

	if (name && !op_find(name))
		return cli_usage(arguments->name, "OP: found \"%s\", allowed: %s%s", name, op_names(),
				 op_meant(name, meant));
	for (uint32_t i = 0; op_at(i); i++)
		if (!name || strcmp(name, op_at(i)->name) == 0) {
			puts(op_at(i)->name);
			attributes_describe(op_at(i), stdout);
		}
	return CLI_OK;
}

static const struct verb_operand optional_op[] = {
	{ .name = "OP", .value = VERB_TEXT, .optional = true },
	{ 0 },
};

static const struct verb model_layers = {
	.name = "layers",
	.summary = "print every kind of layer with its attributes, their allowed values and their defaults",
	.operands = optional_op,
	.run = layers,
};

static const struct verb *const subs[] = { &model_summary, &model_layers, NULL };

const struct verb verb_model = {
	.name = "model",
	.summary = "show a network's layers, shapes and parameters",
	.subs = subs,
	.here = true,
};
