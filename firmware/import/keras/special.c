/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/special.h"

#include "model/layers/table.h"

#include <string.h>

/* ---- Shared ---- */

struct network_layer *keras_add(struct keras_call *call, const struct keras_row *row, const cJSON *config,
				const char *name, const char *weights)
{
	char own[NETWORK_NAME_BYTES];
	struct network_layer *layer = network_add(
		call->network, row->op, network_name(call->network, name, own), call->origin, weights);

	layer->mask = call->mask;
	layer->loses_mask = call->function;
	layer->zeros_masked = cJSON_IsTrue(keras_get(config, "zero_output_for_mask")) &&
			      cJSON_IsTrue(keras_get(config, "return_sequences"));
	keras_attributes(call, row, config, layer);
	return layer;
}

static void read_inputs(const struct keras_call *call, struct network_layer *layer)
{
	for (uint32_t i = 0; i < call->inputs; i++)
		network_read(layer, call->input[i]);
}

void keras_plain(struct keras_call *call, const struct keras_row *row)
{
	struct network_layer *layer = keras_add(call, row, call->config, call->name, call->weights);

	read_inputs(call, layer);
	call->output = layer->name;
}

/* Adds a layer without weights and attributes, which reads the inputs of the call. */
static struct network_layer *add_simple(struct keras_call *call, const char *op)
{
	const struct keras_row row = { .op = op, .only = "" };
	struct network_layer *layer = keras_add(call, &row, NULL, call->name, NULL);

	read_inputs(call, layer);
	call->output = layer->name;
	return layer;
}

static void set(struct network_layer *layer, const char *key, cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(layer->keys, key);
	cJSON_AddItemToObject(layer->keys, key, network_must(value));
}

/* Returns a copy of a config without some of its attributes. The caller deletes it. */
static cJSON *config_without(const cJSON *config, const char *const *keys)
{
	cJSON *copy = network_must(cJSON_Duplicate(config, true));

	for (; *keys; keys++)
		cJSON_DeleteItemFromObjectCaseSensitive(copy, *keys);
	return copy;
}

/* ---- Functions ---- */

void keras_nothing(struct keras_call *call, const struct keras_row *row)
{
	(void)row;
	call->output = call->inputs ? call->input[0] : "";
}

void keras_activation(struct keras_call *call, const struct keras_row *row)
{
	const char *function = keras_function(keras_get(call->config, "activation"));
	const struct op *op = function ? op_find(function) : NULL;
	struct network_layer *layer;

	if (function && strcmp(function, "linear") == 0) {
		keras_nothing(call, row);
		return;
	}
	if (!op || !op->function) {
		network_refuse(call->network, call->origin, "Kiln has no activation %s",
			       function ? function : "that is no function of Keras");
		call->output = "";
		return;
	}
	layer = add_simple(call, function);
	/* The function of Keras has another default than its layer. */
	for (uint32_t i = 0; i < op->attributes; i++)
		if (op->attribute[i].activation_fallback != 0)
			set(layer, op->attribute[i].key,
			    cJSON_CreateNumber(op->attribute[i].activation_fallback));
}

/* Adds x * scale + offset. */
static void add_rescaling(struct keras_call *call, double scale, double offset)
{
	struct network_layer *layer = add_simple(call, "rescaling");

	set(layer, "scale", cJSON_CreateNumber(scale));
	if (offset != 0)
		set(layer, "offset", cJSON_CreateNumber(offset));
}

void keras_arithmetic(struct keras_call *call, const struct keras_row *row)
{
	const double number = call->number ? call->number->valuedouble : 0;
	const bool divides = strstr(call->class, "Divide");

	if (call->inputs == 2 && !call->number && !divides) {
		add_simple(call, row->op);
	} else if (call->inputs != 1 || !call->number || (divides && (call->number_first || number == 0)) ||
		   strcmp(row->op, "maximum") == 0 || strcmp(row->op, "minimum") == 0) {
		network_refuse(call->network, call->origin, "Kiln has no such operation of these arguments");
		call->output = "";
	} else if (strcmp(row->op, "add") == 0) {
		add_rescaling(call, 1, number);
	} else if (strcmp(row->op, "subtract") == 0) {
		add_rescaling(call, call->number_first ? -1 : 1, call->number_first ? number : -number);
	} else {
		add_rescaling(call, divides ? 1 / number : number, 0);
	}
}

/* ---- Convolutions and pools ---- */

void keras_separable(struct keras_call *call, const struct keras_row *row)
{
	static const char *const not_first[] = {
		"filters", "activation", "use_bias", "bias_regularizer", "pointwise_regularizer", NULL
	};
	static const char *const not_second[] = {
		"kernel_size",           "strides", "padding", "dilation_rate", "depth_multiplier",
		"depthwise_regularizer", NULL
	};
	const bool one = strcmp(row->op, "depthwise_conv1d") == 0;
	const struct keras_row first_row = { .op = row->op, .only = "" };
	const struct keras_row second_row = { .op = one ? "conv1d" : "conv2d", .only = "" };
	cJSON *first_config = config_without(call->config, not_first);
	cJSON *second_config = config_without(call->config, not_second);
	char name[KERAS_PLACE_BYTES];
	struct network_layer *first, *second;

	(void)snprintf(name, sizeof(name), "%s_depthwise", call->name);
	first = keras_add(call, &first_row, first_config, name, call->weights);
	set(first, "use_bias", cJSON_CreateFalse());
	read_inputs(call, first);
	second = keras_add(call, &second_row, second_config, call->name, call->weights);
	set(second, "kernel_size", cJSON_CreateNumber(1));
	second->first = 1;
	network_read(second, first->name);
	call->output = second->name;
	cJSON_Delete(first_config);
	cJSON_Delete(second_config);
}

void keras_padding(struct keras_call *call, const struct keras_row *row)
{
	static const char *const not_padding[] = { "padding", NULL };
	const cJSON *padding = keras_get(call->config, "padding"), *pair, *side;
	cJSON *config = config_without(call->config, not_padding), *sides = network_must(cJSON_CreateArray());
	struct network_layer *layer = keras_add(call, row, config, call->name, NULL);
	bool equal = true, numbers = true;

	cJSON_ArrayForEach(pair, padding)
		cJSON_ArrayForEach(side, pair) {
			cJSON_AddItemToArray(sides, network_must(cJSON_CreateNumber(side->valuedouble)));
			numbers &= cJSON_IsNumber(side);
			equal &= side->valuedouble == sides->child->valuedouble;
		}
	if (cJSON_GetArraySize(sides) != 4 || !numbers)
		network_refuse(call->network, call->origin, "padding is not [[top, bottom], [left, right]]");
	set(layer, "padding",
	    equal && sides->child ? cJSON_CreateNumber(sides->child->valuedouble)
				  : cJSON_Duplicate(sides, true));
	read_inputs(call, layer);
	call->output = layer->name;
	cJSON_Delete(sides);
	cJSON_Delete(config);
}

void keras_pooling(struct keras_call *call, const struct keras_row *row)
{
	static const char *const not_strides[] = { "strides", NULL };
	const cJSON *strides = keras_get(call->config, "strides"),
		    *size = keras_get(call->config, "pool_size");
	cJSON *config = config_without(call->config, not_strides);
	struct network_layer *layer;

	if (strides && !cJSON_Compare(strides, size, true))
		cJSON_AddItemToObject(config, "strides", network_must(cJSON_Duplicate(strides, true)));
	layer = keras_add(call, row, config, call->name, NULL);
	read_inputs(call, layer);
	call->output = layer->name;
	cJSON_Delete(config);
}

/* ---- Sequences ---- */

#define RECURRENT                                                                                \
	"return_state=false stateful=false unroll=* zero_output_for_mask=* recurrent_dropout=0 " \
	"implementation=*"

const struct keras_row *keras_recurrent(const char *class)
{
	static const struct keras_row rows[] = {
		{ "LSTM", "lstm", RECURRENT, NULL },
		{ "GRU", "gru", RECURRENT " reset_after=true", NULL },
		{ "SimpleRNN", "simple_rnn", RECURRENT, NULL },
	};

	for (size_t i = 0; class && i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(rows[i].class, class) == 0)
			return &rows[i];
	return NULL;
}

static struct network_layer *add_direction(struct keras_call *call, const char *which, bool backwards)
{
	char key[32], name[KERAS_PLACE_BYTES], weights[2 * KERAS_PLACE_BYTES];
	const cJSON *inner, *config;
	const struct keras_row *row;
	const char *class;
	struct network_layer *layer;

	(void)snprintf(key, sizeof(key), "%s", backwards ? "backward_layer" : "layer");
	inner = keras_get(call->config, key);
	class = keras_text(inner, "class_name");
	config = cJSON_GetObjectItemCaseSensitive(inner, "config");
	row = keras_own(inner) ? keras_recurrent(class) : NULL;
	if (!row) {
		network_refuse(call->network, call->origin,
			       "%s is %s, Kiln has LSTM, GRU and SimpleRNN of Keras", key,
			       class ? class : "not given");
		return NULL;
	}
	(void)snprintf(name, sizeof(name), "%s_%s", call->name, which);
	(void)snprintf(weights, sizeof(weights), "%s/%s_layer", call->weights, which);
	layer = keras_add(call, row, config, name, weights);
	/* Keras sets zero_output_for_mask of these layers. */
	layer->zeros_masked = cJSON_IsTrue(keras_get(config, "return_sequences"));
	read_inputs(call, layer);
	if (cJSON_IsTrue(keras_get(config, "return_sequences")) && backwards)
		set(layer, "in_order", cJSON_CreateTrue());
	if (cJSON_IsTrue(keras_get(config, "go_backwards")) != backwards)
		network_refuse(call->network, call->origin, "%s has another direction", key);
	return layer;
}

void keras_bidirectional(struct keras_call *call, const struct keras_row *row)
{
	static const char *const modes[][2] = {
		{ "concat", "concatenate" }, { "sum", "add" }, { "mul", "multiply" }, { "ave", "average" }
	};
	const char *mode = keras_text(call->config, "merge_mode");
	const struct network_layer *forward = add_direction(call, "forward", false);
	const struct network_layer *backward = add_direction(call, "backward", true);

	call->output = "";
	for (size_t i = 0; mode && i < sizeof(modes) / sizeof(*modes); i++) {
		const struct keras_row join = { .op = modes[i][1], .only = row->only };
		struct network_layer *layer;

		if (strcmp(mode, modes[i][0]) != 0)
			continue;
		layer = keras_add(call, &join, NULL, call->name, NULL);
		if (forward && backward) {
			network_read(layer, forward->name);
			network_read(layer, backward->name);
		}
		call->output = layer->name;
		return;
	}
	network_refuse(call->network, call->origin, "merge_mode = %s: Kiln has concat, sum, mul and ave",
		       mode ? mode : "null");
}

void keras_time_distributed(struct keras_call *call, const struct keras_row *row)
{
	const cJSON *inner = keras_get(call->config, "layer");
	const char *class = keras_text(inner, "class_name");
	char weights[KERAS_PLACE_BYTES + 8];
	struct network_layer *layer;

	if (!class || strcmp(class, "Dense") != 0 || !keras_own(inner)) {
		network_refuse(call->network, call->origin, "the layer inside is %s, Kiln has Dense of Keras",
			       class ? class : "not given");
		call->output = "";
		return;
	}
	(void)snprintf(weights, sizeof(weights), "%s/layer", call->weights);
	layer = keras_add(call, row, cJSON_GetObjectItemCaseSensitive(inner, "config"), call->name, weights);
	read_inputs(call, layer);
	call->output = layer->name;
}

void keras_attention(struct keras_call *call, const struct keras_row *row)
{
	static const char *const not_value_dim[] = { "value_dim", NULL };
	const cJSON *value_dim = keras_get(call->config, "value_dim");
	cJSON *config = config_without(call->config, not_value_dim);
	struct network_layer *layer;
	bool self = true;

	if (value_dim && !cJSON_Compare(value_dim, keras_get(config, "key_dim"), true))
		cJSON_AddItemToObject(config, "value_dim", network_must(cJSON_Duplicate(value_dim, true)));
	layer = keras_add(call, row, config, call->name, call->weights);
	for (uint32_t i = 1; i < call->inputs; i++)
		self &= strcmp(call->input[i], call->input[0]) == 0;
	if (self && call->inputs)
		call->inputs = 1;
	read_inputs(call, layer);
	if (call->causal)
		set(layer, "use_causal_mask", cJSON_CreateTrue());
	call->output = layer->name;
	cJSON_Delete(config);
}

/* ---- Statistics ---- */

void keras_normalization(struct keras_call *call, const struct keras_row *row)
{
	const struct keras_row frozen = { .op = "batch_norm", .only = row->only };
	struct network_layer *layer = keras_add(call, call->input_is_feature ? row : &frozen, call->config,
						call->name, call->weights);

	read_inputs(call, layer);
	call->output = layer->name;
	if (call->input_is_feature)
		return;
	/* Keras divides by max(sqrt(variance), 1e-7). */
	layer->least_variance = 1e-14f;
	set(layer, "epsilon", cJSON_CreateNumber(0));
	set(layer, "center", cJSON_CreateFalse());
	set(layer, "scale", cJSON_CreateFalse());
	set(layer, "trainable", cJSON_CreateFalse());
}
