/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"
#include "core/config/config_reading.h"

#include <inttypes.h>
#include <string.h>

static void print_integer(FILE *out, int64_t value)
{
	fprintf(out, "%" PRId64 "%s", value, value > INT32_MAX || value < INT32_MIN ? "L" : "");
}

/* The shortest text that reads back as the same number. */
static void print_float(FILE *out, double value)
{
	char text[40];

	for (int digits = 1; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

/* NULL: one that could not be read. */
static void print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; text && *text; text++)
		fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
	fputc('"', out);
}

static void print_numbers(FILE *out, const struct config_numbers *numbers)
{
	fputs("[ ", out);
	for (uint32_t i = 0; i < numbers->count; i++) {
		fputs(i ? ", " : "", out);
		print_float(out, numbers->at[i]);
	}
	fputs(numbers->count ? " ]" : "]", out);
}

/* One value as libconfig text. */
static void print_value(FILE *out, const struct config_key *key, const void *base)
{
	const void *at = (const char *)base + key->offset;

	switch (key->type) {
	case KEY_INT:
		print_integer(out, *(const int64_t *)at);
		break;
	case KEY_FLOAT:
		print_float(out, *(const double *)at);
		break;
	case KEY_BOOL:
		fputs(*(const bool *)at ? "true" : "false", out);
		break;
	case KEY_ENUM:
		print_string(out, key->names[*(const int *)at]);
		break;
	case KEY_NUMBERS:
		print_numbers(out, at);
		break;
	default:
		print_string(out, *(const char *const *)at);
		break;
	}
}

static void value_text(const struct config_key *key, const void *base, char out[static CONFIG_VALUE_BYTES])
{
	CLEANUP(close_file) FILE *text = NULL;

	memset(out, 0, CONFIG_VALUE_BYTES);
	text = fmemopen(out, CONFIG_VALUE_BYTES - 1, "w");
	if (text)
		print_value(text, key, base);
}

bool config_asks(const struct config *config, const char *key, const char *beside,
		 char out[static CONFIG_VALUE_BYTES])
{
	const struct config_key *row = config_find_key(config_keys, config_keys_count, "", key);
	const config_t *file = config->memory ? &config->memory->file : NULL;
	char fallback[CONFIG_VALUE_BYTES];
	struct config defaults = { 0 };

	assert(row && row->fallback);
	config_read_fallback(row, &defaults);
	value_text(row, &defaults, fallback);
	value_text(row, config, out);
	return strcmp(out, fallback) != 0 ||
	       (file && beside && config_lookup(file, key) && !config_lookup(file, beside));
}

/* "{ key = value; ..." without the closing brace. */
static void print_element(FILE *out, const struct config_key *keys, size_t count, const void *element)
{
	fputs("  { ", out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s = ", keys[i].name);
		print_value(out, &keys[i], element);
		fputs("; ", out);
	}
}

static void print_sources(FILE *out, const struct config *config)
{
	fputs("sources = (\n", out);
	for (uint32_t i = 0; i < config->sources; i++) {
		print_element(out, config_source_keys, config_source_keys_count, &config->source[i]);
		fputs(i + 1 < config->sources ? "},\n" : "}\n);\n", out);
	}
}

static void print_feature(FILE *out, const struct config_feature *feature)
{
	print_element(out, config_feature_keys, config_feature_keys_count, feature);
	fputs("shape = [ ", out);
	for (uint32_t i = 0; i < feature->rank; i++)
		fprintf(out, "%s%" PRIu64, i ? ", " : "", feature->shape[i]);
	fputs(" ]; }", out);
}

static void print_integers(FILE *out, const struct config_attribute *attribute)
{
	for (uint32_t i = 0; i < attribute->items; i++) {
		fputs(i ? ", " : "[ ", out);
		print_integer(out, attribute->item[i]);
	}
	fputs(" ]", out);
}

static void print_layer(FILE *out, const struct config_layer *layer)
{
	fprintf(out, "    { op = \"%s\"; ", layer->op);
	if (*layer->name)
		fprintf(out, "name = \"%s\"; ", layer->name);
	for (uint32_t i = 0; i < layer->inputs; i++) {
		fputs(i ? ", " : "inputs = [ ", out);
		print_string(out, layer->input[i]);
		fputs(i + 1 == layer->inputs ? " ]; " : "", out);
	}
	for (uint32_t i = 0; i < layer->attributes; i++) {
		const struct config_attribute *attribute = &layer->attribute[i];

		fprintf(out, "%s = ", attribute->key);
		if (attribute->type == ATTRIBUTE_STRING)
			print_string(out, attribute->s);
		else if (attribute->type == ATTRIBUTE_BOOL)
			fputs(attribute->i ? "true" : "false", out);
		else if (attribute->type == ATTRIBUTE_INT)
			print_integer(out, attribute->i);
		else if (attribute->type == ATTRIBUTE_INTS)
			print_integers(out, attribute);
		else
			print_float(out, attribute->f);
		fputs("; ", out);
	}
	fputs("}", out);
}

static void print_lists(FILE *out, const struct config *config)
{
	fprintf(out, "schema = (%s\n", config->memory->schema_given ? "" : " # default");
	for (uint32_t i = 0; i < config->features; i++) {
		print_feature(out, &config->feature[i]);
		fputs(i + 1 < config->features ? ",\n" : "\n);\n", out);
	}
}

static void print_layers(FILE *out, const struct config *config)
{
	fprintf(out, "  layers = (%s\n", config->memory->layers_given ? "" : " # default");
	for (uint32_t i = 0; i < config->model.layers; i++) {
		print_layer(out, &config->model.layer[i]);
		fputs(i + 1 < config->model.layers ? ",\n" : "\n  );\n", out);
	}
}

/* The row opens a group when the one before stands in another. */
static bool opens_group(size_t row)
{
	size_t length = strcspn(config_keys[row].name, ".") + 1;

	return row == 0 || strncmp(config_keys[row].name, config_keys[row - 1].name, length) != 0;
}

static bool closes_group(size_t row)
{
	return row + 1 == config_keys_count || opens_group(row + 1);
}

static int group_length(const struct config_key *key)
{
	return (int)strcspn(key->name, ".");
}

void config_print(const struct config *config, FILE *out)
{
	if (config->memory->sources_given)
		print_sources(out, config);
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];

		if (config_key_is_replaced(config->memory, key))
			continue;
		if (opens_group(i))
			fprintf(out, "%.*s: {\n", group_length(key), key->name);
		fprintf(out, "  %s = ", key->name + group_length(key) + 1);
		print_value(out, key, config);
		fprintf(out, ";%s\n", config->memory->given[i] ? "" : " # default");
		if (closes_group(i) && strncmp(key->name, "model.", 6) == 0)
			print_layers(out, config);
		if (closes_group(i))
			fputs("};\n", out);
	}
	print_lists(out, config);
}

int config_show(const char *path, FILE *out, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = config_load(path, &config, err);

	if (r == 0)
		config_print(&config, out);
	return r;
}

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
		list = cJSON_AddArrayToObject(out, attribute->key);
		for (uint32_t i = 0; i < attribute->items; i++)
			cJSON_AddItemToArray(list, cJSON_CreateNumber((double)attribute->item[i]));
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

static void json_schema(cJSON *out, const struct config *config)
{
	cJSON *list = cJSON_AddArrayToObject(out, "schema");

	for (uint32_t i = 0; i < config->features; i++) {
		const struct config_feature *feature = &config->feature[i];
		cJSON *item = json_element(config_feature_keys, config_feature_keys_count, feature);
		cJSON *shape = cJSON_AddArrayToObject(item, "shape");
		for (uint32_t d = 0; d < feature->rank; d++)
			cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)feature->shape[d]));
		cJSON_AddItemToArray(list, item);
	}
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

		if (config_key_is_replaced(config.memory, &config_keys[i]))
			continue;
		item = cJSON_CreateObject();
		cJSON_AddItemToObject(item, "value", json_value(&config_keys[i], &config));
		cJSON_AddBoolToObject(item, "default", !config.memory->given[i]);
		cJSON_AddItemToObject(root, config_keys[i].name, item);
	}
	if (config.memory->sources_given)
		json_sources(root, &config);
	json_layers(root, &config);
	json_schema(root, &config);
	return json_print(root, ret_text, err);
}

/* ---- The reference ---- */

static void print_documented(FILE *out, const struct config_key *key, const char *indent, const char *end)
{
	char allowed[256];
	bool plain = key->type == KEY_INT || key->type == KEY_FLOAT || key->type == KEY_BOOL;
	const char *before = plain ? "" : key->type == KEY_NUMBERS ? "[ " : "\"";
	const char *behind = plain ? "" : key->type == KEY_NUMBERS ? "]" : "\"";
	bool wide =
		key->type == KEY_INT && strtoull(key->fallback ? key->fallback : "", NULL, 10) > INT32_MAX;
	const char *name = strchr(key->name, '.') ? strchr(key->name, '.') + 1 : key->name;

	config_allowed(key, allowed, sizeof(allowed));
	fprintf(out, "%s# %s.\n%s# %s%s%s%s\n", indent, key->help, indent, allowed,
		*key->unit ? "; unit: " : "", key->unit, key->fallback ? "" : "; must be given");
	if (key->fallback)
		fprintf(out, "%s%s = %s%s%s%s%s\n", indent, name, before, key->fallback, behind,
			wide ? "L" : "", end);
	else
		fprintf(out, "%s%s = \"%s\"%s\n", indent, name,
			key->type == KEY_URL
				? (strncmp(key->name, "source", 6) == 0 ? "file:///data/kiln/store/data"
									: "file:///data/kiln/store/runs")
				: "",
			end);
}

static void print_element_help(FILE *out, const struct config_key *keys, size_t count)
{
	int width = 8;

	for (size_t i = 0; i < count; i++)
		width = (int)strlen(keys[i].name) > width ? (int)strlen(keys[i].name) : width;
	for (size_t i = 0; i < count; i++) {
		const char *fallback = keys[i].fallback;
		char allowed[256];

		config_allowed(&keys[i], allowed, sizeof(allowed));
		fprintf(out, "#   %-*s %s (%s)%s%s\n", width, keys[i].name, keys[i].help, allowed,
			!fallback   ? "; must be given"
			: *fallback ? "; default "
				    : "",
			fallback ? fallback : "");
	}
}

/* In the place of the group `source`, whose keys they have, too. */
static void print_source_help(FILE *out)
{
	size_t first = 0;

	while (config_source_keys[first].type != KEY_FLOAT)
		first++;
	fputs("# Several sources, mixed by weight: in the place of `source` a list\n"
	      "#   sources = ( { url = \"s3://bucket/a\"; weight = 2.0; }, { url = \"s3://bucket/b\"; } );\n"
	      "# An epoch is one pass over the first; the others begin anew as often as they end. Each { } "
	      "has "
	      "the keys of `source`\n# and these:\n",
	      out);
	print_element_help(out, config_source_keys + first, config_source_keys_count - first);
	fputs("\n", out);
}

static void print_feature_help(FILE *out)
{
	fputs("# What a record holds: one { } a feature, with these keys:\n", out);
	print_element_help(out, config_feature_keys, config_feature_keys_count);
	fputs("#   shape    sizes of its dimensions, [ ] for a single value\n", out);
}

int config_reference(FILE *out, struct error *err)
{
	fputs("# Kiln's configuration: every key with its default. Written by `kiln config reference`; a "
	      "file of your own needs\n"
	      "# only source.url, sink.url and what differs. Integers above 2147483647 carry an L.\n\n",
	      out);
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];

		if (opens_group(i))
			fprintf(out, "%.*s: {\n", group_length(key), key->name);
		print_documented(out, key, "  ", ";");
		if (closes_group(i) && strncmp(key->name, "model.", 6) == 0)
			fprintf(out,
				"  # The network, first layer first: { op; name; inputs = [ names ]; and "
				"what the op takes }.\n"
				"  # Without `inputs` a layer gets the one before it.\n"
				"  %s",
				config_default_layers);
		if (closes_group(i))
			fputs("};\n\n", out);
		if (closes_group(i) && strncmp(key->name, "source.", 7) == 0)
			print_source_help(out);
	}
	print_feature_help(out);
	fputs(config_default_schema, out);
	return ferror(out) ? error_set(err, -EIO, "cannot write the reference") : 0;
}
