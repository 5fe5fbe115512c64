/* SPDX-License-Identifier: Apache-2.0 */
#include "import/network/network.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#define TEXT_BYTES 2048u

void *network_must(void *made)
{
	if (!made)
		abort();
	return made;
}

int network_open(struct network **ret_network, struct error *err)
{
	struct network *network = calloc(1, sizeof(*network));

	if (!network)
		return error_set(err, -ENOMEM, "no memory for a network");
	network->features = network_must(cJSON_CreateArray());
	network->refusals = network_must(cJSON_CreateArray());
	network->notes = network_must(cJSON_CreateArray());
	network->model = network_must(cJSON_CreateObject());
	network->optimizer = network_must(cJSON_CreateObject());
	network->taken = network_must(cJSON_CreateObject());
	network_must(cJSON_AddTrueToObject(network->taken, NETWORK_ROW));
	network_must(cJSON_AddTrueToObject(network->taken, NETWORK_CLASSES));
	*ret_network = network;
	return 0;
}

void network_close(struct network *network)
{
	if (!network)
		return;
	for (uint32_t i = 0; i < network->layers; i++) {
		cJSON_Delete(network->layer[i].keys);
		free(network->layer[i].origin);
		free(network->layer[i].weights);
	}
	cJSON_Delete(network->features);
	cJSON_Delete(network->model);
	cJSON_Delete(network->optimizer);
	cJSON_Delete(network->refusals);
	cJSON_Delete(network->notes);
	cJSON_Delete(network->taken);
	free(network);
}

void network_closep(struct network **network)
{
	network_close(*network);
}

/* ---- Sentences ---- */

static void add_text(cJSON *list, const char *text)
{
	cJSON_AddItemToArray(list, network_must(json_string(text)));
}

void network_refuse(struct network *network, const char *origin, const char *format, ...)
{
	char text[TEXT_BYTES];
	const size_t used = (size_t)snprintf(text, sizeof(text), "%s: ", origin);
	va_list args;

	if (cJSON_GetArraySize(network->refusals) >= (int)NETWORK_REFUSALS_MAX || used >= sizeof(text))
		return;
	va_start(args, format);
	(void)vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	add_text(network->refusals, text);
}

void network_note(struct network *network, const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	add_text(network->notes, text);
}

/* ---- Layers and features ---- */

static bool is_taken(const struct network *network, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(network->taken, name);
}

const char *network_name(struct network *network, const char *wanted, char out[static NETWORK_NAME_BYTES])
{
	size_t length = 0;

	for (; wanted[length] && length < NETWORK_NAME_BYTES - 1; length++)
		out[length] = isalnum((unsigned char)wanted[length]) || wanted[length] == '-' ? wanted[length]
											      : '_';
	if (length == 0)
		out[length++] = '_';
	out[length] = '\0';
	for (unsigned i = 1; is_taken(network, out); i++) {
		char number[16];
		const size_t digits = (size_t)snprintf(number, sizeof(number), "_%u", i);
		const size_t at =
			length + digits < NETWORK_NAME_BYTES ? length : NETWORK_NAME_BYTES - 1 - digits;

		memcpy(out + at, number, digits + 1);
	}
	network_must(cJSON_AddTrueToObject(network->taken, out));
	return out;
}

struct network_layer *network_add(struct network *network, const char *op, const char *name,
				  const char *origin, const char *weights)
{
	struct network_layer *layer = &network->layer[network->layers];

	if (network->layers == CONFIG_LAYERS_MAX) {
		network_refuse(network, origin, "more than %u layers", CONFIG_LAYERS_MAX);
		return layer - 1;
	}
	network->layers++;
	*layer = (struct network_layer){ .keys = network_must(cJSON_CreateObject()),
					 .origin = network_must(strdup(origin)),
					 .weights = weights ? network_must(strdup(weights)) : NULL };
	network_must(cJSON_AddStringToObject(layer->keys, "op", op));
	layer->name =
		((cJSON *)network_must(cJSON_AddStringToObject(layer->keys, "name", name)))->valuestring;
	return layer;
}

void network_read(struct network_layer *layer, const char *input)
{
	cJSON *inputs = cJSON_GetObjectItemCaseSensitive(layer->keys, "inputs");

	if (!inputs)
		inputs = network_must(cJSON_AddArrayToObject(layer->keys, "inputs"));
	cJSON_AddItemToArray(inputs, network_must(cJSON_CreateString(input)));
}

const struct network_layer *network_find(const struct network *network, const char *name)
{
	for (uint32_t i = 0; i < network->layers; i++)
		if (strcmp(network->layer[i].name, name) == 0)
			return &network->layer[i];
	return NULL;
}

const char *network_op(const struct network_layer *layer)
{
	return cJSON_GetObjectItemCaseSensitive(layer->keys, "op")->valuestring;
}

const char *network_last_op(const struct network *network)
{
	const struct network_layer *last = &network->layer[network->layers - 1];
	const char *activation =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(last->keys, "activation"));

	return activation ? activation : network_op(last);
}

void network_feature(struct network *network, const char *name, const char *dtype, cJSON *shape)
{
	cJSON *feature = network_must(cJSON_CreateObject());

	network_must(cJSON_AddStringToObject(feature, "name", name));
	network_must(cJSON_AddStringToObject(feature, "dtype", dtype));
	cJSON_AddItemToObject(feature, "shape", network_must(shape));
	cJSON_AddItemToArray(network->features, feature);
}
