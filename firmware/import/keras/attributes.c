/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/layer.h"

#include "model/graph/op.h"
#include "model/layers/attributes.h"
#include "model/layers/table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define VALUE_BYTES 160u

const cJSON *keras_get(const cJSON *config, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(config, key);

	return cJSON_IsNull(value) ? NULL : value;
}

const char *keras_text(const cJSON *config, const char *key)
{
	return cJSON_GetStringValue(keras_get(config, key));
}

bool keras_own(const cJSON *object)
{
	const char *module = keras_text(object, "module"), *class = keras_text(object, "class_name");
	const cJSON *registered = keras_get(object, "registered_name");

	return module && class && (strcmp(module, "keras") == 0 || strncmp(module, "keras.", 6) == 0) &&
	       (!registered || (cJSON_IsString(registered) && strcmp(registered->valuestring, class) == 0));
}

const char *keras_function(const cJSON *value)
{
	const char *class = keras_text(value, "class_name");

	if (cJSON_IsString(value))
		return value->valuestring;
	return class && strcmp(class, "function") == 0 ? keras_text(value, "config") : NULL;
}

const char *keras_small(const char *class, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; class[i] && used + 2 < size; i++) {
		if (isupper((unsigned char)class[i]) && i > 0 &&
		    (islower((unsigned char)class[i + 1]) || islower((unsigned char)class[i - 1])))
			out[used++] = '_';
		out[used++] = (char)tolower((unsigned char)class[i]);
	}
	out[used] = '\0';
	return out;
}

/* Writes a value in one line, cut where it is long. Returns `out`. */
static const char *value_text(const cJSON *value, char out[static VALUE_BYTES])
{
	char *text = network_must(cJSON_PrintUnformatted(value));

	(void)snprintf(out, VALUE_BYTES, "%s", text);
	if (strlen(text) >= VALUE_BYTES)
		memcpy(out + VALUE_BYTES - 4, "...", 4);
	free(text);
	return out;
}

static void refuse_value(struct keras_call *call, const char *key, const cJSON *value, const char *why)
{
	char text[VALUE_BYTES];

	network_refuse(call->network, call->origin, "%s = %s: %s", key, value_text(value, text), why);
}

static bool ends_with(const char *key, const char *end)
{
	const size_t length = strlen(key), tail = strlen(end);

	return length > tail && strcmp(key + length - tail, end) == 0;
}

/* ---- Attributes with a list of allowed values ---- */

/* Tells whether a value is the last dimension: -1, or its number, or a list of this one. */
static bool is_last(const struct keras_call *call, const cJSON *value)
{
	const cJSON *axis = cJSON_GetArraySize(value) == 1 ? value->child : value;

	return cJSON_IsNumber(axis) &&
	       (axis->valueint == -1 || (call->rank && axis->valueint == (int)call->rank - 1));
}

static bool is_allowed(const struct keras_call *call, const cJSON *value, const char *allowed, size_t length)
{
	char text[VALUE_BYTES];

	(void)value_text(value, text);
	while (length) {
		const size_t word = strcspn(allowed, "| ") < length ? strcspn(allowed, "| ") : length;

		if (*allowed == '*' || (word == strlen(text) && memcmp(allowed, text, word) == 0) ||
		    (word == 4 && memcmp(allowed, "last", 4) == 0 && is_last(call, value)))
			return true;
		allowed += word + (word < length);
		length -= word + (word < length);
	}
	return false;
}

/* Finds "KEY=" in a list; NULL: it is not there. */
static const char *find_only(const char *only, const char *key)
{
	const size_t length = strlen(key);

	for (; *only; only += strcspn(only, " "), only += *only == ' ')
		if (strncmp(only, key, length) == 0 && only[length] == '=')
			return only + length + 1;
	return NULL;
}

/* ---- Penalties ---- */

static const char *parameter_of(const char *prefix)
{
	return strcmp(prefix, "recurrent") == 0                                       ? "recurrent_kernel"
	       : strcmp(prefix, "depthwise") == 0 || strcmp(prefix, "pointwise") == 0 ? "kernel"
										      : prefix;
}

static bool has_parameter(const struct op *op, const char *name)
{
	for (uint32_t i = 0; i < op->parameters; i++)
		if (strcmp(op->parameter[i].name, name) == 0)
			return true;
	return false;
}

/* Adds KERNEL_l1 and KERNEL_l2 of a regularizer of Keras. */
static void add_penalty(struct keras_call *call, const struct op *op, const cJSON *value,
			struct network_layer *layer)
{
	static const char *const norms[] = { "l1", "l2" };
	char prefix[NETWORK_NAME_BYTES], key[NETWORK_NAME_BYTES + 4];
	const char *class = keras_text(value, "class_name");
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(value, "config");

	(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)(strlen(value->string) - strlen("_regularizer")),
		       value->string);
	if (!class || !keras_own(value) ||
	    (strcmp(class, "L1") != 0 && strcmp(class, "L2") != 0 && strcmp(class, "L1L2") != 0) ||
	    !has_parameter(op, parameter_of(prefix))) {
		refuse_value(call, value->string, value, "Kiln has L1, L2 and L1L2 of a weight");
		return;
	}
	for (size_t i = 0; i < sizeof(norms) / sizeof(*norms); i++) {
		const cJSON *number = keras_get(config, norms[i]);

		(void)snprintf(key, sizeof(key), "%s_%s", parameter_of(prefix), norms[i]);
		if (cJSON_IsNumber(number) && number->valuedouble != 0)
			network_must(cJSON_AddNumberToObject(layer->keys, key, number->valuedouble));
	}
}

/* ---- Attributes of Kiln ---- */

/* Returns the number of a list of equal numbers where one number stands for all; NULL: it does not. */
static const cJSON *one_for_all(const struct attribute_spec *spec, const cJSON *value)
{
	const cJSON *item;

	if (spec->kind != ATTRIBUTE_IS_INTS || !cJSON_IsArray(value) || !value->child ||
	    spec->items_min != spec->items_max)
		return NULL;
	cJSON_ArrayForEach(item, value)
		if (!cJSON_IsNumber(item) || item->valuedouble != value->child->valuedouble)
			return NULL;
	return value->child;
}

static bool is_finite(const cJSON *value)
{
	return cJSON_IsNumber(value) && isfinite(value->valuedouble);
}

/* Returns the number of an array of numpy whose numbers are equal; other values as they are. */
static const cJSON *number_of_array(const cJSON *value)
{
	const char *class = keras_text(value, "class_name");
	const cJSON *list =
		cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(value, "config"), "value");
	const cJSON *item;

	if (!class || strcmp(class, "__numpy__") != 0 || !cJSON_IsArray(list) || !list->child)
		return value;
	cJSON_ArrayForEach(item, list)
		if (!is_finite(item) || item->valuedouble != list->child->valuedouble)
			return value;
	return list->child;
}

/* Tells whether kiln.conf can have a value: a number, a word, or a list of numbers. */
static bool is_printable(const cJSON *value)
{
	const cJSON *item;

	if (!cJSON_IsArray(value))
		return is_finite(value) || cJSON_IsBool(value) || cJSON_IsString(value);
	cJSON_ArrayForEach(item, value)
		if (!is_finite(item))
			return false;
	return true;
}

static bool is_name(const struct attribute_spec *spec, const char *name)
{
	for (const char *const *allowed = spec->names; name && allowed && *allowed; allowed++)
		if (strcmp(*allowed, name) == 0)
			return true;
	return false;
}

static bool is_default(const struct attribute_spec *spec, const cJSON *value)
{
	if (spec->required || spec->kind == ATTRIBUTE_IS_FLOATS)
		return false;
	if (cJSON_IsString(value))
		return spec->fallback_name && strcmp(spec->fallback_name, value->valuestring) == 0;
	if (cJSON_IsBool(value))
		return cJSON_IsTrue(value) == (spec->fallback != 0);
	return cJSON_IsNumber(value) && value->valuedouble == spec->fallback;
}

static void add_name(struct keras_call *call, const struct attribute_spec *spec, const cJSON *value,
		     struct network_layer *layer)
{
	const char *name = keras_function(value);

	if (!is_name(spec, name))
		refuse_value(call, spec->key, value, "Kiln's layer does not have this value");
	else if (!spec->fallback_name || strcmp(spec->fallback_name, name) != 0)
		network_must(cJSON_AddStringToObject(layer->keys, spec->key, name));
}

static void add_attribute(struct keras_call *call, const struct attribute_spec *spec, const cJSON *value,
			  struct network_layer *layer)
{
	const cJSON *one;

	value = number_of_array(value);
	one = one_for_all(spec, value);
	if (spec->kind == ATTRIBUTE_IS_NAME)
		add_name(call, spec, value, layer);
	else if (!is_printable(value))
		refuse_value(call, spec->key, value, "Kiln's layer has no such values");
	else if (!is_default(spec, one ? one : value))
		cJSON_AddItemToObject(layer->keys, spec->key,
				      network_must(cJSON_Duplicate(one ? one : value, true)));
}

/* Adds the function that follows a layer. */
static void add_activation(struct keras_call *call, const cJSON *value, struct network_layer *layer)
{
	const char *name = keras_function(value);
	const struct op *function = name ? op_find(name) : NULL;

	if (name && strcmp(name, "linear") == 0)
		return;
	if (function && function->function)
		network_must(cJSON_AddStringToObject(layer->keys, value->string, name));
	else
		refuse_value(call, value->string, value, "Kiln has no such function");
}

static const struct attribute_spec *spec_of(const struct op *op, const char *key)
{
	for (uint32_t i = 0; i < op->attributes; i++)
		if (strcmp(op->attribute[i].key, key) == 0)
			return &op->attribute[i];
	return NULL;
}

/* ---- All attributes of a layer ---- */

/* Refuses numbers of other types than float32. A policy of 16 bits is that of the whole network. */
static void look_at_dtype(struct keras_call *call, const cJSON *value)
{
	const cJSON *config = cJSON_GetObjectItemCaseSensitive(value, "config");
	const char *name = cJSON_IsString(value) ? value->valuestring : keras_text(config, "name");
	cJSON *model = call->network->model;

	if (name && (strcmp(name, "mixed_float16") == 0 || strcmp(name, "mixed_bfloat16") == 0)) {
		if (!cJSON_HasObjectItem(model, "precision"))
			network_must(cJSON_AddStringToObject(model, "precision", name));
	} else if (!name || strcmp(name, "float32") != 0) {
		refuse_value(call, "dtype", value, "Kiln has float32, mixed_bfloat16 and mixed_float16");
	}
}

/* Attributes that every layer has, and what has no effect on weights that are given. Returns false for
 * others.
 */
static bool is_common(struct keras_call *call, const struct op *op, const cJSON *value,
		      struct network_layer *layer)
{
	const char *key = value->string;

	if (strcmp(key, "dtype") == 0)
		look_at_dtype(call, value);
	else if (strcmp(key, "trainable") == 0 && cJSON_IsFalse(value) && attributes_learns(op))
		network_must(cJSON_AddFalseToObject(layer->keys, key));
	else if (strcmp(key, "data_format") == 0 &&
		 strcmp(cJSON_IsString(value) ? value->valuestring : "", "channels_last") != 0)
		refuse_value(call, key, value, "Kiln has channels_last");
	else if (strcmp(key, "activation") == 0 && op->activates)
		add_activation(call, value, layer);
	else if (ends_with(key, "_regularizer"))
		add_penalty(call, op, value, layer);
	else
		return strcmp(key, "name") == 0 || strcmp(key, "trainable") == 0 ||
		       strcmp(key, "seed") == 0 || strcmp(key, "data_format") == 0 ||
		       ends_with(key, "_initializer");
	return true;
}

void keras_attributes(struct keras_call *call, const struct keras_row *row, const cJSON *config,
		      struct network_layer *layer)
{
	const struct op *op = op_find(row->op);
	const cJSON *value;

	cJSON_ArrayForEach(value, config) {
		const char *only = value->string ? find_only(row->only, value->string) : NULL;
		const struct attribute_spec *spec = value->string ? spec_of(op, value->string) : NULL;

		if (!value->string || (cJSON_IsNull(value) && !(only && *only != '*')))
			continue;
		if (only) {
			if (!is_allowed(call, value, only, strcspn(only, " ")))
				refuse_value(call, value->string, value,
					     "Kiln's layer does not have this value");
		} else if (is_common(call, op, value, layer)) {
			continue;
		} else if (spec) {
			add_attribute(call, spec, value, layer);
		} else {
			refuse_value(call, value->string, value, "Kiln's layer does not have this attribute");
		}
	}
}
