/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/call.h"

#include <string.h>

bool keras_is_operation(const cJSON *entry)
{
	const char *module = keras_text(entry, "module");

	return module && strncmp(module, "keras.src.ops", strlen("keras.src.ops")) == 0;
}

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

/* Returns a positional argument of the first call of a layer; NULL: there is none. */
static const cJSON *argument_of(const cJSON *entry, int place)
{
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(entry, "inbound_nodes");

	return nodes ? cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(nodes->child, "args"), place)
		     : NULL;
}

/* ---- Masks ---- */

bool keras_is_mask(const char *class)
{
	return strcmp(class, "NotEqual") == 0 || strcmp(class, "LogicalOr") == 0 ||
	       strcmp(class, "LogicalAnd") == 0;
}

void keras_ids_read(struct reading *reading, const cJSON *layers)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, layers) {
		const char *class = keras_text(entry, "class_name");
		const cJSON *config = cJSON_GetObjectItemCaseSensitive(entry, "config");
		const char *ids = tensor_of(argument_of(entry, 0));

		if (class && strcmp(class, "Embedding") == 0 && ids &&
		    cJSON_IsTrue(keras_get(config, "mask_zero")) &&
		    !cJSON_GetObjectItemCaseSensitive(reading->ids, ids))
			network_must(cJSON_AddTrueToObject(reading->ids, ids));
	}
}

/* Returns the ids of the mask that a tensor is; NULL: it is no mask. */
static const char *ids_of(const struct reading *reading, const cJSON *value)
{
	const char *name = tensor_of(value);

	return name ? cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reading->masks, name)) : NULL;
}

/* Returns the ids of the mask that an operation computes, or "". */
static const char *computed_ids(const struct reading *reading, const cJSON *entry, const char *class)
{
	const cJSON *first = argument_of(entry, 0), *second = argument_of(entry, 1);
	const bool compares = strcmp(class, "NotEqual") == 0;
	const char *ids = compares ? tensor_of(first) : ids_of(reading, first);
	const char *others = ids_of(reading, second);

	if (!ids)
		return "";
	if (compares)
		return cJSON_GetObjectItemCaseSensitive(reading->ids, ids) && cJSON_IsNumber(second) &&
				       second->valuedouble == 0
			       ? ids
			       : "";
	return others && strcmp(ids, others) == 0 ? ids : "";
}

void keras_mask_read(struct reading *reading, const cJSON *entry, struct keras_call *call)
{
	const char *ids = computed_ids(reading, entry, call->class);

	if (!*ids)
		network_refuse(call->network, call->origin,
			       "a mask is that of the ids that one Embedding with mask_zero reads");
	if (!cJSON_GetObjectItemCaseSensitive(reading->masks, call->name))
		network_must(cJSON_AddStringToObject(reading->masks, call->name, ids));
}

/* Tells whether a value is a mask of the graph, or a list of such. */
static bool is_mask(const struct reading *reading, const cJSON *value)
{
	const cJSON *item;

	if (!cJSON_IsArray(value))
		return cJSON_IsNull(value) || ids_of(reading, value);
	cJSON_ArrayForEach(item, value)
		if (!is_mask(reading, item))
			return false;
	return true;
}

/* ---- Arguments ---- */

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

/* Adds the argument of a place. */
static void give(struct reading *reading, struct keras_call *call, int place, const cJSON *value)
{
	if (cJSON_IsNull(value))
		return;
	if (place != call->arguments)
		network_refuse(call->network, call->origin, "argument %d of the call %s", place + 1,
			       place < call->arguments ? "is given twice"
						       : "is given, and one before it is not");
	call->arguments = place + 1;
	add_argument(reading, call, value);
}

#define PLACES 3

/* Returns the place of the argument that a keyword names; PLACES: it names none. */
static int place_of(const struct keras_call *call, bool operation, const char *keyword)
{
	static const char *const attention[PLACES] = { "query", "value", "key" };
	static const char *const function[PLACES] = { "x1", "x2", NULL };
	static const char *const layer[PLACES] = { "inputs", NULL, NULL };
	const char *const *names = operation                                        ? function
				   : strcmp(call->class, "MultiHeadAttention") == 0 ? attention
										    : layer;
	int place = 0;

	while (place < PLACES && !(names[place] && strcmp(names[place], keyword) == 0))
		place++;
	return place;
}

static bool names_mask(const char *keyword)
{
	static const char *const names[] = { "mask", "query_mask", "value_mask", "key_mask" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(keyword, names[i]) == 0)
			return true;
	return false;
}

/* Looks at a keyword that names no place. */
static void look_at_keyword(struct reading *reading, struct keras_call *call, const cJSON *value)
{
	if (strcmp(value->string, "use_causal_mask") == 0 && cJSON_IsBool(value))
		call->causal = cJSON_IsTrue(value);
	else if (names_mask(value->string) && is_mask(reading, value))
		call->mask = cJSON_IsNull(value) ? call->mask : NETWORK_MASK_GIVEN;
	else if (!cJSON_IsNull(value) && !cJSON_IsFalse(value))
		network_refuse(call->network, call->origin, "Kiln has no argument %s of the call",
			       value->string);
}

/* Reads the arguments of a call: those without a name, then those with one in the order of their places. */
static void read_arguments(struct reading *reading, const cJSON *node, bool operation,
			   struct keras_call *call)
{
	const cJSON *keywords = cJSON_GetObjectItemCaseSensitive(node, "kwargs"), *value;
	int place = 0;

	cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(node, "args"))
		give(reading, call, place++, value);
	for (place = 0; place < PLACES; place++)
		cJSON_ArrayForEach(value, keywords)
			if (value->string && place_of(call, operation, value->string) == place)
				give(reading, call, place, value);
	cJSON_ArrayForEach(value, keywords)
		if (value->string && place_of(call, operation, value->string) == PLACES)
			look_at_keyword(reading, call, value);
}

bool keras_call_read(struct reading *reading, const cJSON *entry, struct keras_call *call)
{
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(entry, "inbound_nodes");
	const int count = cJSON_GetArraySize(nodes);

	if (count != 1) {
		network_refuse(call->network, call->origin,
			       "it is called %d times: Kiln has no layers with shared weights", count);
		return false;
	}
	call->function = keras_is_operation(entry);
	call->mask = NETWORK_MASK_NONE;
	read_arguments(reading, nodes->child, call->function, call);
	if (call->inputs == 0)
		network_refuse(call->network, call->origin, "it reads no layer and no input");
	return call->inputs > 0;
}
