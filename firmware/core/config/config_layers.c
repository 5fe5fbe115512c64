/* SPDX-License-Identifier: Apache-2.0 */
/* Reads model.layers: a list of layers, whose keys are the attributes of the layer's op. */
#include "core/base/visible.h"
#include "core/config/config_reading.h"

#include <string.h>

static bool read_inputs(struct config_reading *reading, const config_setting_t *setting,
			struct config_layer *layer)
{
	int count = config_setting_length(setting);
	char found[128];

	if (config_setting_type(setting) != CONFIG_TYPE_ARRAY || count < 1 ||
	    count > (int)CONFIG_INPUTS_MAX || !config_setting_get_string_elem(setting, 0)) {
		mistakes_add(reading->mistakes, config_setting_source_line(setting),
			     "model.layers.inputs: found %s, allowed: [ ] of 1 .. %u layer names",
			     config_found(setting, found, sizeof(found)), CONFIG_INPUTS_MAX);
		return false;
	}
	layer->inputs = (uint32_t)count;
	for (int i = 0; i < count; i++) {
		layer->input[i] = config_setting_get_string_elem(setting, i);
		if (!visible_is(layer->input[i]))
			mistakes_add(reading->mistakes, config_setting_source_line(setting),
				     "model.layers.inputs: found a control character, allowed: none");
	}
	return true;
}

/* Reads a list of numbers. All elements have the same type, because libconfig refuses other lists. */
static void read_numbers(struct config_reading *reading, const config_setting_t *setting,
			 struct config_attribute *attribute)
{
	int count = config_setting_length(setting);
	bool allowed = count >= 1 && count <= (int)CONFIG_SHAPE_MAX;

	attribute->type = ATTRIBUTE_INTS;
	for (int i = 0; allowed && i < count; i++) {
		const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);
		const int type = config_setting_type(element);

		if (type == CONFIG_TYPE_FLOAT)
			attribute->type = ATTRIBUTE_FLOATS;
		allowed = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64 || type == CONFIG_TYPE_FLOAT;
		attribute->item[attribute->items] = config_setting_get_int64(element);
		attribute->number[attribute->items++] = type == CONFIG_TYPE_FLOAT
								? config_setting_get_float(element)
								: (double)config_setting_get_int64(element);
	}
	if (allowed)
		return;
	mistakes_add(reading->mistakes, attribute->line,
		     "model.layers.%s: found %s of %d elements, allowed: [ ] of 1 .. %u numbers",
		     attribute->key, config_type_name(setting), count, CONFIG_SHAPE_MAX);
	attribute->type = ATTRIBUTE_UNREAD;
}

static void read_attribute(struct config_reading *reading, const config_setting_t *setting,
			   struct config_layer *layer)
{
	struct config_attribute *attribute = &layer->attribute[layer->attributes];

	if (layer->attributes == CONFIG_ATTRIBUTES_MAX) {
		mistakes_add(reading->mistakes, config_setting_source_line(setting),
			     "model.layers: found more than %u attributes", CONFIG_ATTRIBUTES_MAX);
		return;
	}
	attribute->key = config_setting_name(setting);
	attribute->line = config_setting_source_line(setting);
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		attribute->type = ATTRIBUTE_INT;
		attribute->i = config_setting_get_int64(setting);
		attribute->f = (double)attribute->i;
		break;
	case CONFIG_TYPE_FLOAT:
		attribute->type = ATTRIBUTE_FLOAT;
		attribute->f = config_setting_get_float(setting);
		break;
	case CONFIG_TYPE_BOOL:
		attribute->type = ATTRIBUTE_BOOL;
		attribute->i = config_setting_get_bool(setting);
		break;
	case CONFIG_TYPE_STRING:
		attribute->type = ATTRIBUTE_STRING;
		attribute->s = config_setting_get_string(setting);
		if (!visible_is(attribute->s))
			mistakes_add(reading->mistakes, attribute->line,
				     "model.layers.%s: found a control character, allowed: none",
				     attribute->key);
		break;
	case CONFIG_TYPE_ARRAY:
		read_numbers(reading, setting, attribute);
		break;
	default:
		mistakes_add(reading->mistakes, attribute->line,
			     "model.layers.%s: found %s, allowed: a number, truth value, string or [ ] of "
			     "numbers",
			     attribute->key, config_type_name(setting));
		attribute->type = ATTRIBUTE_UNREAD;
		break;
	}
	layer->attributes++;
}

static void read_layer(struct config_reading *reading, const config_setting_t *group)
{
	struct config_layer *layer = &reading->config->model.layer[reading->config->model.layers++];
	bool connected = true;
	char found[128];

	layer->line = config_setting_source_line(group);
	layer->name = "";
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
		const char *name = config_setting_name(setting);
		bool is_name = config_setting_type(setting) == CONFIG_TYPE_STRING &&
			       config_is_name(config_setting_get_string(setting));

		if (strcmp(name, "op") == 0 && is_name)
			layer->op = config_setting_get_string(setting);
		else if (strcmp(name, "name") == 0 && is_name)
			layer->name = config_setting_get_string(setting);
		else if (strcmp(name, "op") == 0 || strcmp(name, "name") == 0)
			mistakes_add(
				reading->mistakes, config_setting_source_line(setting),
				"model.layers.%s: found %s, allowed: 1 .. 64 characters of [A-Za-z0-9_-]",
				name, config_found(setting, found, sizeof(found)));
		else if (strcmp(name, "inputs") == 0)
			connected = read_inputs(reading, setting, layer);
		else
			read_attribute(reading, setting, layer);
	}
	if (!config_setting_get_member(group, "op"))
		mistakes_add(reading->mistakes, layer->line,
			     "model.layers.op: found nothing, it must be given");
	/* Clear the op of a layer with wrong inputs, so that the model does not check this layer. */
	if (!connected)
		layer->op = NULL;
}

void config_read_layers(struct config_reading *reading, const config_setting_t *list)
{
	struct config_memory *memory = reading->config->memory;
	const int count = config_setting_length(list);

	/* A row is large: there are only as many as the file has. A wrong list has none. */
	if (count > 0 && count <= (int)CONFIG_LAYERS_MAX) {
		memory->layer = calloc((size_t)count, sizeof(*memory->layer));
		if (!memory->layer) {
			mistakes_add(reading->mistakes, config_setting_source_line(list),
				     "model.layers: no memory");
			return;
		}
	}
	reading->config->model.layer = memory->layer;
	config_read_list(reading, list, "model.layers", CONFIG_LAYERS_MAX, "layers", read_layer);
}
