/* SPDX-License-Identifier: Apache-2.0 */
#include "import/network/conf.h"

#include "core/config/config_tree.h"
#include "import/network/masks.h"
#include "model/build.h"
#include "model/config_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define LAST_EXACT 9007199254740992.0 /* 2^53 */

/* ---- Values ---- */

static bool is_whole(const cJSON *value)
{
	return cJSON_IsNumber(value) && value->valuedouble == floor(value->valuedouble) &&
	       fabs(value->valuedouble) <= LAST_EXACT;
}

static void print_number(const cJSON *value, bool whole, FILE *out)
{
	assert(cJSON_IsNumber(value));
	if (whole)
		config_print_integer(out, (int64_t)value->valuedouble);
	else
		config_print_float(out, value->valuedouble);
}

static void print_item(const cJSON *value, bool whole, FILE *out)
{
	if (cJSON_IsString(value))
		config_print_string(out, value->valuestring);
	else if (cJSON_IsBool(value))
		fputs(cJSON_IsTrue(value) ? "true" : "false", out);
	else
		print_number(value, whole, out);
}

/* All numbers of a list in libconfig have the same type. */
static void print_value(const cJSON *value, FILE *out)
{
	const cJSON *item;
	bool whole = true;

	if (!cJSON_IsArray(value)) {
		print_item(value, is_whole(value), out);
		return;
	}
	cJSON_ArrayForEach(item, value)
		whole &= is_whole(item);
	fputc('[', out);
	cJSON_ArrayForEach(item, value) {
		fputs(item == value->child ? " " : ", ", out);
		print_item(item, whole, out);
	}
	fputs(" ]", out);
}

static void print_keys(const cJSON *keys, const char *before, FILE *out)
{
	const cJSON *key;

	cJSON_ArrayForEach(key, keys) {
		fprintf(out, "%s%s = ", before, key->string);
		print_value(key, out);
		fputc(';', out);
	}
}

/* ---- Layers ---- */

/* Tells whether the only input of a layer is what it reads without the key `inputs`. */
static bool reads_before(const struct network *network, uint32_t i)
{
	const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(network->layer[i].keys, "inputs");
	const cJSON *feature = network->features->child;
	const char *before = i ? network->layer[i - 1].name
			       : cJSON_GetObjectItemCaseSensitive(feature, "name")->valuestring;

	return cJSON_GetArraySize(inputs) == 1 && strcmp(inputs->child->valuestring, before) == 0;
}

static bool is_head(const char *key)
{
	return strcmp(key, "op") == 0 || strcmp(key, "name") == 0 || strcmp(key, "inputs") == 0;
}

/* Prints op, name and inputs, then the attributes. */
static void print_layer(const struct network *network, uint32_t i, FILE *out)
{
	const cJSON *key;

	fputs("    {", out);
	for (int head = 1; head >= 0; head--)
		cJSON_ArrayForEach(key, network->layer[i].keys) {
			if (is_head(key->string) != head ||
			    (strcmp(key->string, "inputs") == 0 && reads_before(network, i)))
				continue;
			fprintf(out, " %s = ", key->string);
			print_value(key, out);
			fputc(';', out);
		}
	fputs(i + 1 < network->layers ? " },\n" : " }", out);
}

/* ---- The file ---- */

static const char *text_of(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(value) ? value->valuestring : NULL;
}

static const char *loss_of(const struct network *network, const struct conf *conf)
{
	const char *loss = text_of(network->model, "loss"), *op = network_last_op(network);

	if (!conf->outputs)
		return "sparse_categorical_crossentropy";
	if (loss)
		return loss;
	return strcmp(op, "softmax") == 0   ? "sparse_categorical_crossentropy"
	       : strcmp(op, "sigmoid") == 0 ? "binary_crossentropy"
					    : "mean_squared_error";
}

static void print_label(const struct network *network, const struct conf *conf, const char *label, FILE *out)
{
	const char *loss = loss_of(network, conf);
	const bool class = strncmp(loss, "sparse_", 7) == 0, numbers = !strstr(loss, "crossentropy");

	fprintf(out, ",\n  { name = \"%s\"; dtype = \"%s\"; shape = [ %" PRIu64 " ]; }\n", label,
		numbers ? "float32" : "int64", class ? 1 : conf->outputs);
}

static void print_schema(const struct network *network, const struct conf *conf, const char *label, FILE *out)
{
	const cJSON *feature;

	fputs("# What a record has. The names of the features are those of the network's inputs.\nschema = "
	      "(\n",
	      out);
	cJSON_ArrayForEach(feature, network->features) {
		fputs(feature == network->features->child ? "  {" : ",\n  {", out);
		print_keys(feature, " ", out);
		fputs(" }", out);
	}
	print_label(network, conf, label, out);
	fputs(");\n", out);
}

/* Returns a name for the label that no layer or feature has. */
static const char *label_of(const struct network *network)
{
	static const char *const names[] = { "label", "target", "label_of_row", "target_of_row" };
	size_t i = 0;

	while (i + 1 < sizeof(names) / sizeof(*names) &&
	       cJSON_GetObjectItemCaseSensitive(network->taken, names[i]))
		i++;
	return names[i];
}

static void print_model(const struct network *network, const struct conf *conf, const char *label, FILE *out)
{
	const cJSON *key;

	fputs("model: {\n  input = ", out);
	config_print_string(out, text_of(network->features->child, "name"));
	fprintf(out, ";\n  label = \"%s\";\n  loss = \"%s\";\n", label, loss_of(network, conf));
	if (conf->weights) {
		fputs("  weights = ", out);
		config_print_string(out, conf->weights);
		fputs(";\n", out);
	}
	cJSON_ArrayForEach(key, network->model) {
		if (!conf->outputs || strcmp(key->string, "loss") == 0)
			continue;
		fprintf(out, "  %s = ", key->string);
		print_value(key, out);
		fputs(";\n", out);
	}
	fputs("  layers = (\n", out);
	for (uint32_t i = 0; i < network->layers; i++)
		print_layer(network, i, out);
	if (!conf->outputs)
		fputs(",\n    { op = \"flatten\"; name = \"" NETWORK_ROW
		      "\"; },\n    { op = \"softmax\"; name = \"" NETWORK_CLASSES "\"; }",
		      out);
	fputs("\n  );\n};\n", out);
}

void conf_print(const struct network *network, const struct conf *conf, FILE *out)
{
	const char *label = label_of(network);

	fputs("# Written by kiln import from ", out);
	config_print_string(out, conf->what);
	fputs(". Every other key has a default: see kiln.conf(5).\n"
	      "run: { name = \"imported\"; epochs = 10; batch_rows = 32; };\n"
	      "# Fill in: where the shards are, and where the runs write checkpoints, curves and the model.\n"
	      "source: { url = \"file:///FILL/IN/shards\"; };\nsink: { url = \"file:///FILL/IN/runs\"; };\n"
	      "ring: { small_pages = true; };\n"
	      "# About a tenth of the training shards validate, by a hash of their names.\n"
	      "split: { by = \"hash\"; };\n",
	      out);
	print_schema(network, conf, label, out);
	print_model(network, conf, label, out);
	fputs("optimizer: {", out);
	print_keys(network->optimizer, " ", out);
	fputs(" };\n", out);
}

/* ---- The graph ---- */

struct hearing {
	struct network *network;
	const struct config *config;
};

/* Returns the layer that stands in a line of the text; NULL: none does. */
static const struct network_layer *layer_at(const struct hearing *hearing, unsigned line)
{
	for (uint32_t i = 0; i < hearing->config->model.layers; i++)
		if (hearing->config->model.layer[i].line == line && i < hearing->network->layers)
			return &hearing->network->layer[i];
	return NULL;
}

static void hear(void *listener, unsigned line, const char *text)
{
	const struct hearing *hearing = listener;
	const struct network_layer *layer = layer_at(hearing, line);

	network_refuse(hearing->network, layer ? layer->origin : "the network", "%s", text);
}

int conf_build(struct network *network, const char *text, struct config *ret_config, struct graph *ret_graph,
	       struct error *err)
{
	struct hearing hearing = { network, ret_config };
	struct mistakes mistakes = { .file = "kiln.conf", .hear = hear, .listener = &hearing };
	int r = config_text_load(text, ret_config, err);

	if (r < 0)
		return r;
	graph_check(ret_config, &mistakes);
	if (mistakes.count)
		return error_set(err, -EINVAL, "Kiln refuses %u parts of the network", mistakes.count);
	r = graph_build(ret_config, false, ret_graph, err);
	return r < 0 ? r : masks_check(network, ret_graph, err);
}
