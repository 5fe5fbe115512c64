/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/model.h"

#include "import/keras/call.h"
#include "import/keras/training.h"

#include <string.h>

#define LAYERS_MAX \
	(4 * CONFIG_LAYERS_MAX) /* some of them, such as inputs and masks, become no layer of Kiln */

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
	if (!keras_is_operation(entry))
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
	const struct keras_row *row = keras_row_of(call->class, keras_is_operation(entry));

	char output[NETWORK_NAME_BYTES];

	call->output = "";
	if (!row)
		network_refuse(call->network, call->origin, "%s", why_not(call->class));
	else if (!keras_own(entry))
		network_refuse(call->network, call->origin, KERAS_NOT_OWN);
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
	else if (keras_is_operation(entry) && keras_is_mask(call->class))
		keras_mask_read(reading, entry, call);
	else if (keras_call_read(reading, entry, call))
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
	else if (!output)
		network_refuse(network, "the model", "its output is that of %s, which is no layer", name);
	else if (*output && strcmp(output, network->layer[network->layers - 1].name) != 0)
		network_refuse(network, "the model",
			       "its output is that of %s, Kiln's is that of the last layer, %s", name,
			       network->layer[network->layers - 1].name);
}

static void read_functional(struct reading *reading, const cJSON *config)
{
	const cJSON *entry, *layers = cJSON_GetObjectItemCaseSensitive(config, "layers");

	keras_ids_read(reading, layers);
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

	if (!class || !keras_own(json) || (!functional && strcmp(class, "Sequential") != 0))
		return error_set(
			err, -EINVAL,
			"config.json: the model is %s%s, expected Sequential or Functional of Keras 3",
			class ? class : "no class of Keras",
			class && !keras_own(json) ? " of no module of Keras" : "");
	if (!cJSON_IsArray(layers) || !layers->child)
		return error_set(err, -EBADMSG, "config.json: config.layers is not a list of layers");
	reading.layers = (uint32_t)cJSON_GetArraySize(layers);
	if (reading.layers > LAYERS_MAX)
		return error_set(err, -EINVAL, "config.json: %u layers, allowed: at most %u", reading.layers,
				 LAYERS_MAX);
	reading.outputs = network_must(cJSON_CreateObject());
	reading.counts = network_must(cJSON_CreateObject());
	reading.masks = network_must(cJSON_CreateObject());
	reading.ids = network_must(cJSON_CreateObject());
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
	cJSON_Delete(reading.ids);
	cJSON_Delete(reading.features);
	return 0;
}
