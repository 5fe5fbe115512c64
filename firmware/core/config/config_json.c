/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a configuration as JSON. */
#include "core/base/json.h"
#include "core/config/config_keys.h"
#include "core/config/config_tree.h"

static cJSON *json_numbers(const struct config_numbers *numbers)
{
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; i < numbers->count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNumber(numbers->at[i]));
	return list;
}

static cJSON *json_value(const struct config_key *key, const void *base)
{
	const void *at = (const char *)base + key->offset;

	switch (key->type) {
	case KEY_INT:
		return cJSON_CreateNumber((double)*(const uint64_t *)at);
	case KEY_FLOAT:
		return cJSON_CreateNumber(*(const double *)at);
	case KEY_BOOL:
		return cJSON_CreateBool(*(const bool *)at);
	case KEY_ENUM:
		return cJSON_CreateString(key->names[*(const int *)at]);
	case KEY_NUMBERS:
		return json_numbers(at);
	default:
		return cJSON_CreateString(*(const char *const *)at);
	}
}

static void json_attribute(cJSON *out, const struct config_attribute *attribute)
{
	cJSON *list;

	switch (attribute->type) {
	case ATTRIBUTE_STRING:
		cJSON_AddStringToObject(out, attribute->key, attribute->s);
		break;
	case ATTRIBUTE_BOOL:
		cJSON_AddBoolToObject(out, attribute->key, (int)attribute->i);
		break;
	case ATTRIBUTE_INTS:
	case ATTRIBUTE_FLOATS:
		list = cJSON_AddArrayToObject(out, attribute->key);
		for (uint32_t i = 0; i < attribute->items; i++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber(attribute->type == ATTRIBUTE_INTS
									      ? (double)attribute->item[i]
									      : attribute->number[i]));
		break;
	default:
		cJSON_AddNumberToObject(out, attribute->key, attribute->f);
		break;
	}
}

static void json_layers(cJSON *out, const struct config *config)
{
	cJSON *list = cJSON_AddArrayToObject(out, "layers");

	for (uint32_t i = 0; i < config->model.layers; i++) {
		const struct config_layer *layer = &config->model.layer[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "op", layer->op);
		if (*layer->name)
			cJSON_AddStringToObject(item, "name", layer->name);
		if (layer->inputs)
			cJSON_AddItemToObject(
				item, "inputs",
				cJSON_CreateStringArray((const char **)layer->input, (int)layer->inputs));
		for (uint32_t a = 0; a < layer->attributes; a++)
			json_attribute(item, &layer->attribute[a]);
		cJSON_AddItemToArray(list, item);
	}
}

static cJSON *json_element(const struct config_key *keys, size_t count, const void *element)
{
	cJSON *item = cJSON_CreateObject();

	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToObject(item, keys[i].name, json_value(&keys[i], element));
	return item;
}

static void json_sources(cJSON *out, const struct config *config)
{
	cJSON *list = cJSON_AddArrayToObject(out, "sources");

	for (uint32_t i = 0; i < config->sources; i++)
		cJSON_AddItemToArray(
			list, json_element(config_source_keys, config_source_keys_count, &config->source[i]));
}

cJSON *config_schema_json(const struct config *config)
{
	cJSON *list = cJSON_CreateArray();

	for (uint32_t i = 0; i < config->features - config->made; i++) {
		const struct config_feature *feature = &config->feature[i];
		cJSON *item =
			json_element(config_feature_keys, config_feature_keys_of(feature->dtype), feature);
		cJSON *shape = cJSON_AddArrayToObject(item, "shape");
		for (uint32_t d = 0; d < feature->rank; d++)
			cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)feature->shape[d]));
		cJSON_AddItemToArray(list, item);
	}
	return list;
}

/* Returns the rows of `preprocess` as the file has them: an empty list where it has none. */
static cJSON *preprocess_json(const struct config *config)
{
	const config_setting_t *rows = config_lookup(&config->memory->file, "preprocess");

	return rows ? config_tree_json(rows) : cJSON_CreateArray();
}

/* Adds the trials of a series as the file has them: an empty list and an empty object where it has none. */
static void json_trials(cJSON *out, const struct config *config)
{
	const config_setting_t *experiments = config_lookup(&config->memory->file, "experiments"),
			       *vary = config_lookup(&config->memory->file, "vary");

	cJSON_AddItemToObject(out, "experiments",
			      experiments ? config_tree_json(experiments) : cJSON_CreateArray());
	cJSON_AddItemToObject(out, "vary", vary ? config_tree_json(vary) : cJSON_CreateObject());
}

int config_show_json(const char *path, char **ret_text, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(json_free) cJSON *root = cJSON_CreateObject();
	int r = config_load(path, &config, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < config_keys_count; i++) {
		cJSON *item;

		if (config_key_is_hidden(config.memory, &config_keys[i]))
			continue;
		item = cJSON_CreateObject();
		cJSON_AddItemToObject(item, "value", json_value(&config_keys[i], &config));
		cJSON_AddBoolToObject(item, "default", !config.memory->given[i]);
		cJSON_AddItemToObject(root, config_keys[i].name, item);
	}
	if (config.memory->sources_given)
		json_sources(root, &config);
	json_layers(root, &config);
	cJSON_AddItemToObject(root, "schema", config_schema_json(&config));
	cJSON_AddItemToObject(root, "preprocess", preprocess_json(&config));
	json_trials(root, &config);
	return json_print(root, ret_text, err);
}
