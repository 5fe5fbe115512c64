/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/model.h"

#include "import/keras/layer.h"
#include "import/keras/training.h"

#include <string.h>

#define LAYERS_MAX \
	(4 * CONFIG_LAYERS_MAX) /* some of them, such as inputs and masks, become no layer of Kiln */

struct reading {
	struct network *network;
	cJSON *outputs;  /* object: name of a layer of Keras -> the layer or feature of Kiln that has its
			    output */
	cJSON *counts;   /* object: class -> how many layers of it came before */
	cJSON *masks;    /* object: names of the operations whose output is a mask */
	cJSON *features; /* object: names of features */
	uint32_t place, layers;
};

/* ---- Names ---- */

/* Writes the name that Keras gives the group of a layer: the class in small letters, "multi_head_attention",
 * and a number from the second layer on. */
static void group_of(struct reading *reading, const char *class, char out[static KERAS_PLACE_BYTES])
{
	cJSON *count = cJSON_GetObjectItemCaseSensitive(reading->counts, class);
	char text[KERAS_PLACE_BYTES / 2];

	(void)keras_small(class, text, sizeof(text));
	if (count)
		cJSON_SetNumberValue(count, count->valuedouble + 1);
	else
		network_must(cJSON_AddNumberToObject(reading->counts, class, 0));
	if (count)
		(void)snprintf(out, KERAS_PLACE_BYTES, "layers/%s_%.0f", text, count->valuedouble);
	else
		(void)snprintf(out, KERAS_PLACE_BYTES, "layers/%s", text);
}

static bool is_operation(const cJSON *entry)
{
	const char *module = keras_text(entry, "module");

	return module && strncmp(module, "keras.src.ops", strlen("keras.src.ops")) == 0;
}

/* ---- The arguments of a call ---- */

/* Returns the name of the layer whose output a value is; NULL: it is no tensor. */
static const char *tensor_of(const cJSON *value)
{
	const char *class = keras_text(value, "class_name");
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(value, "config");

	return class && strcmp(class, "__keras_tensor__") == 0
		       ? cJSON_GetStringValue(cJSON_GetArrayItem(
				 cJSON_GetObjectItemCaseSensitive(config, "keras_history"), 0))
		       : NULL;
}

static void add_tensor(struct reading *reading, struct keras_call *call, const cJSON *value)
{
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(value, "config");
	const cJSON *history = cJSON_GetObjectItemCaseSensitive(config, "keras_history");
	const char *name = tensor_of(value);
	const char *output = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reading->outputs, name));

	if (cJSON_GetObjectItemCaseSensitive(reading->masks, name)) {
		network_refuse(call->network, call->origin, "it reads the mask %s as numbers", name);
	} else if (!output || call->inputs == CONFIG_INPUTS_MAX) {
		network_refuse(call->network, call->origin, "it reads %s, which no layer before it gives",
			       name);
	} else if (cJSON_GetNumberValue(cJSON_GetArrayItem(history, 1)) != 0 ||
		   cJSON_GetNumberValue(cJSON_GetArrayItem(history, 2)) != 0) {
		network_refuse(call->network, call->origin, "it reads another output of %s than the first",
			       name);
	} else {
		if (call->inputs == 0) {
			call->rank = (uint32_t)cJSON_GetArraySize(
				cJSON_GetObjectItemCaseSensitive(config, "shape"));
			call->input_is_feature = cJSON_GetObjectItemCaseSensitive(reading->features, output);
		}
		call->input[call->inputs++] = output;
	}
}

static void add_argument(struct reading *reading, struct keras_call *call, const cJSON *value)
{
	const cJSON *item;

	if (tensor_of(value)) {
		add_tensor(reading, call, value);
	} else if (cJSON_IsArray(value)) {
		cJSON_ArrayForEach(item, value)
			add_argument(reading, call, item);
	} else if (cJSON_IsNumber(value)) {
		call->number = value;
		call->number_first = call->inputs == 0;
	} else if (!cJSON_IsNull(value)) {
		network_refuse(call->network, call->origin, "an argument of the call is no tensor");
	}
}

/* Tells whether a value is a mask of the graph, or a list of such. */
static bool is_mask(const struct reading *reading, const cJSON *value)
{
	const char *name = tensor_of(value);
	const cJSON *item;

	if (cJSON_IsNull(value))
		return true;
	if (name)
		return cJSON_GetObjectItemCaseSensitive(reading->masks, name);
	cJSON_ArrayForEach(item, value)
		if (!is_mask(reading, item))
			return false;
	return cJSON_IsArray(value);
}

static void look_at_keyword(struct reading *reading, struct keras_call *call, const cJSON *value)
{
	const size_t length = strlen(value->string);
	const bool masks = length >= 4 && strcmp(value->string + length - 4, "mask") == 0;

	if (strcmp(value->string, "use_causal_mask") == 0 && cJSON_IsBool(value))
		call->causal = cJSON_IsTrue(value);
	else if (masks && is_mask(reading, value))
		call->masked |= !cJSON_IsNull(value);
	else if (strcmp(value->string, "value") == 0 || strcmp(value->string, "key") == 0 ||
		 strcmp(value->string, "inputs") == 0 || strcmp(value->string, "x2") == 0)
		add_argument(reading, call, value);
	else if (!cJSON_IsNull(value) && !cJSON_IsFalse(value))
		network_refuse(call->network, call->origin, "Kiln has no argument %s of the call",
			       value->string);
}

/* Reads the only call of a layer. Returns false where there is not one call. */
static bool read_call(struct reading *reading, const cJSON *entry, struct keras_call *call)
{
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(entry, "inbound_nodes"), *value;
	const int count = cJSON_GetArraySize(nodes);

	if (count != 1) {
		network_refuse(call->network, call->origin,
			       "it is called %d times: Kiln has no layers with shared weights", count);
		return false;
	}
	cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(nodes->child, "args"))
		add_argument(reading, call, value);
	cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(nodes->child, "kwargs"))
		if (value->string)
			look_at_keyword(reading, call, value);
	if (call->inputs == 0)
		network_refuse(call->network, call->origin, "it reads no layer and no input");
	return call->inputs > 0;
}

/* ---- Inputs ---- */

static const char *dtype_of(const char *keras)
{
	static const char *const types[][2] = { { "float32", "float32" }, { "float16", "float32" },
						{ "float64", "float32" }, { "bfloat16", "float32" },
						{ "int64", "int64" },     { "int32", "int64" },
						{ "int16", "int64" },     { "int8", "int64" },
						{ "uint8", "uint8" } };

	for (size_t i = 0; keras && i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(keras, types[i][0]) == 0)
			return types[i][1];
	return NULL;
}

/* Adds a feature. `batch_shape`: its shape with the batch's dimension. */
static void add_feature(struct reading *reading, const char *keras, const char *origin, const char *dtype,
			const cJSON *batch_shape)
{
	char name[NETWORK_NAME_BYTES];
	cJSON *shape = network_must(cJSON_CreateArray());
	const cJSON *item = batch_shape ? batch_shape->child : NULL;
	bool known = item;

	for (item = item ? item->next : NULL; item; item = item->next) {
		known &= cJSON_IsNumber(item) && item->valuedouble >= 1;
		cJSON_AddItemToArray(shape, network_must(cJSON_CreateNumber(item->valuedouble)));
	}
	if (!known)
		network_refuse(reading->network, origin,
			       "a dimension is not known: Kiln has inputs of a fixed shape");
	if (!dtype_of(dtype))
		network_refuse(reading->network, origin, "dtype %s: Kiln has inputs of numbers",
			       dtype ? dtype : "that is not a name");
	network_name(reading->network, keras, name);
	network_feature(reading->network, name, dtype_of(dtype) ? dtype_of(dtype) : "float32", shape);
	network_must(cJSON_AddTrueToObject(reading->features, name));
	network_must(cJSON_AddStringToObject(reading->outputs, keras, name));
}

static void read_input(struct reading *reading, const char *name, const char *origin, const cJSON *config)
{
	if (cJSON_IsTrue(keras_get(config, "sparse")) || cJSON_IsTrue(keras_get(config, "ragged")))
		network_refuse(reading->network, origin, "a sparse or ragged input");
	add_feature(reading, name, origin, keras_text(config, "dtype"),
		    cJSON_GetObjectItemCaseSensitive(config, "batch_shape"));
}

/* ---- Layers ---- */

static bool makes_mask(const char *class)
{
	return strcmp(class, "NotEqual") == 0 || strcmp(class, "LogicalOr") == 0 ||
	       strcmp(class, "LogicalAnd") == 0;
}

static void begin_call(struct reading *reading, const cJSON *entry, struct keras_call *call)
{
	const char *class = keras_text(entry, "class_name");

	call->network = reading->network;
	call->config = cJSON_GetObjectItemCaseSensitive(entry, "config");
	call->class = class ? class : "no class";
	call->name = keras_text(call->config, "name");
	if (!call->name)
		call->name = keras_text(entry, "name");
	if (!call->name)
		call->name = call->class;
	(void)snprintf(call->origin, sizeof(call->origin), "%s (%s), layer %u of %u", call->name, call->class,
		       ++reading->place, reading->layers);
	if (!is_operation(entry))
		group_of(reading, call->class, call->weights);
}

static const char *why_not(const char *class)
{
	return strcmp(class, "Functional") == 0 || strcmp(class, "Sequential") == 0
		       ? "Kiln has no models inside of models"
		       : "Kiln has no such layer";
}

/* Makes the layers of Kiln for a call whose inputs are known. */
static void make(struct reading *reading, const cJSON *entry, struct keras_call *call)
{
	const struct keras_row *row = keras_row_of(call->class, is_operation(entry));

	char output[NETWORK_NAME_BYTES];

	call->output = "";
	if (!row)
		network_refuse(call->network, call->origin, "%s", why_not(call->class));
	else if (!cJSON_IsObject(call->config))
		network_refuse(call->network, call->origin, "it has no config");
	else if (row->make)
		row->make(call, row);
	else
		keras_plain(call, row);
	/* A copy, because the output of a layer that does nothing may be the item that is replaced. */
	(void)snprintf(output, sizeof(output), "%s", call->output);
	cJSON_DeleteItemFromObjectCaseSensitive(reading->outputs, call->name);
	network_must(cJSON_AddStringToObject(reading->outputs, call->name, output));
}

static void read_functional_layer(struct reading *reading, const cJSON *entry)
{
	struct keras_call *call = network_must(calloc(1, sizeof(*call)));

	begin_call(reading, entry, call);
	if (strcmp(call->class, "InputLayer") == 0)
		read_input(reading, call->name, call->origin, call->config);
	else if (is_operation(entry) && makes_mask(call->class))
		network_must(cJSON_AddTrueToObject(reading->masks, call->name));
	else if (read_call(reading, entry, call))
		make(reading, entry, call);
	else
		network_must(cJSON_AddStringToObject(reading->outputs, call->name, ""));
	free(call);
}

/* Returns the output layer of a list ["out", 0, 0], or [["out", 0, 0]]; NULL: there are several. */
static const char *only_output(const cJSON *list)
{
	const cJSON *first = list ? list->child : NULL;

	if (cJSON_IsArray(first))
		return cJSON_GetArraySize(list) == 1 ? cJSON_GetStringValue(first->child) : NULL;
	return cJSON_GetStringValue(first);
}

/* Kiln's output is that of the last layer. */
static void look_at_output(struct reading *reading, const cJSON *outputs)
{
	struct network *network = reading->network;
	const char *name = only_output(outputs);
	const char *output = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reading->outputs, name));

	if (!name)
		network_refuse(network, "the model", "%d outputs: Kiln has one", cJSON_GetArraySize(outputs));
	else if (network->layers == 0 || !network->features->child)
		network_refuse(network, "the model", "it has no layer, or no input");
	else if (output && *output && strcmp(output, network->layer[network->layers - 1].name) != 0)
		network_refuse(network, "the model",
			       "its output is that of %s, Kiln's is that of the last layer, %s", name,
			       network->layer[network->layers - 1].name);
}

static void read_functional(struct reading *reading, const cJSON *config)
{
	const cJSON *entry, *layers = cJSON_GetObjectItemCaseSensitive(config, "layers");

	cJSON_ArrayForEach(entry, layers)
		read_functional_layer(reading, entry);
	look_at_output(reading, cJSON_GetObjectItemCaseSensitive(config, "output_layers"));
}

static void read_sequential_layer(struct reading *reading, const cJSON *entry, const char **before)
{
	struct keras_call *call = network_must(calloc(1, sizeof(*call)));
	const cJSON *build = keras_get(entry, "build_config"), *shape = keras_get(build, "input_shape");

	begin_call(reading, entry, call);
	if (strcmp(call->class, "InputLayer") == 0) {
		read_input(reading, call->name, call->origin, call->config);
		*before =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reading->outputs, call->name));
		free(call);
		return;
	}
	if (!*before) {
		add_feature(reading, "input_layer", call->origin, "float32", shape);
		*before = "input_layer";
	}
	call->rank = (uint32_t)cJSON_GetArraySize(shape);
	call->input[call->inputs++] = *before;
	call->input_is_feature = cJSON_GetObjectItemCaseSensitive(reading->features, *before);
	make(reading, entry, call);
	*before = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reading->outputs, call->name));
	free(call);
}

static void read_sequential(struct reading *reading, const cJSON *config)
{
	const cJSON *entry, *layers = cJSON_GetObjectItemCaseSensitive(config, "layers");
	const char *before = NULL;

	cJSON_ArrayForEach(entry, layers)
		read_sequential_layer(reading, entry, &before);
	if (reading->network->layers == 0)
		network_refuse(reading->network, "the model", "no layer is left");
}

/* An embedding reads numbers of words; Keras makes integers of any numbers that it gets. */
static void make_ids_integers(struct network *network)
{
	cJSON *feature;

	cJSON_ArrayForEach(feature, network->features) {
		const char *name = keras_text(feature, "name");
		bool ids = strcmp(keras_text(feature, "dtype"), "float32") == 0, read = false;

		for (uint32_t i = 0; i < network->layers; i++) {
			const cJSON *inputs = cJSON_GetObjectItemCaseSensitive(network->layer[i].keys,
									       "inputs"),
				    *input;

			cJSON_ArrayForEach(input, inputs)
				if (strcmp(input->valuestring, name) == 0) {
					read = true;
					ids &= strcmp(network_op(&network->layer[i]), "embedding") == 0;
				}
		}
		if (ids && read)
			(void)cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(feature, "dtype"),
						   "int64");
	}
}

int keras_model_read(const cJSON *json, struct network *network, struct error *err)
{
	struct reading reading = { .network = network };
	const char *class = keras_text(json, "class_name");
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(json, "config");
	const cJSON *layers = cJSON_GetObjectItemCaseSensitive(config, "layers");
	const bool functional = class && strcmp(class, "Functional") == 0;

	if (!class || (!functional && strcmp(class, "Sequential") != 0))
		return error_set(err, -EINVAL,
				 "config.json: the model is %s, expected Sequential or Functional of Keras 3",
				 class ? class : "no class of Keras");
	if (!cJSON_IsArray(layers) || !layers->child)
		return error_set(err, -EBADMSG, "config.json: config.layers is not a list of layers");
	reading.layers = (uint32_t)cJSON_GetArraySize(layers);
	if (reading.layers > LAYERS_MAX)
		return error_set(err, -EINVAL, "config.json: %u layers, allowed: at most %u", reading.layers,
				 LAYERS_MAX);
	reading.outputs = network_must(cJSON_CreateObject());
	reading.counts = network_must(cJSON_CreateObject());
	reading.masks = network_must(cJSON_CreateObject());
	reading.features = network_must(cJSON_CreateObject());
	if (functional)
		read_functional(&reading, config);
	else
		read_sequential(&reading, config);
	make_ids_integers(network);
	if (cJSON_GetArraySize(network->refusals) == 0)
		keras_training_read(keras_get(json, "compile_config"), network);
	cJSON_Delete(reading.outputs);
	cJSON_Delete(reading.counts);
	cJSON_Delete(reading.masks);
	cJSON_Delete(reading.features);
	return 0;
}
