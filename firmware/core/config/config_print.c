/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_reading.h"
#include "core/config/config_tree.h"

#include <inttypes.h>
#include <string.h>

static void print_numbers(FILE *out, const struct config_numbers *numbers)
{
	fputs("[ ", out);
	for (uint32_t i = 0; i < numbers->count; i++) {
		fputs(i ? ", " : "", out);
		config_print_float(out, numbers->at[i]);
	}
	fputs(numbers->count ? " ]" : "]", out);
}

/* Prints a value in the syntax of libconfig. */
static void print_value(FILE *out, const struct config_key *key, const void *base)
{
	const void *at = (const char *)base + key->offset;

	switch (key->type) {
	case KEY_INT:
		config_print_integer(out, *(const int64_t *)at);
		break;
	case KEY_FLOAT:
		config_print_float(out, *(const double *)at);
		break;
	case KEY_BOOL:
		fputs(*(const bool *)at ? "true" : "false", out);
		break;
	case KEY_ENUM:
		config_print_string(out, key->names[*(const int *)at]);
		break;
	case KEY_NUMBERS:
		print_numbers(out, at);
		break;
	default:
		config_print_string(out, *(const char *const *)at);
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

/* Prints an element of a list, "{ key = value; ...", without the closing brace. */
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
	print_element(out, config_feature_keys, config_feature_keys_of(feature->dtype), feature);
	fputs("shape = [ ", out);
	for (uint32_t i = 0; i < feature->rank; i++)
		fprintf(out, "%s%" PRIu64, i ? ", " : "", feature->shape[i]);
	fputs(" ]; }", out);
}

static void print_list(FILE *out, const struct config_attribute *attribute)
{
	for (uint32_t i = 0; i < attribute->items; i++) {
		fputs(i ? ", " : "[ ", out);
		if (attribute->type == ATTRIBUTE_INTS)
			config_print_integer(out, attribute->item[i]);
		else
			config_print_float(out, attribute->number[i]);
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
		config_print_string(out, layer->input[i]);
		fputs(i + 1 == layer->inputs ? " ]; " : "", out);
	}
	for (uint32_t i = 0; i < layer->attributes; i++) {
		const struct config_attribute *attribute = &layer->attribute[i];

		fprintf(out, "%s = ", attribute->key);
		if (attribute->type == ATTRIBUTE_STRING)
			config_print_string(out, attribute->s);
		else if (attribute->type == ATTRIBUTE_BOOL)
			fputs(attribute->i ? "true" : "false", out);
		else if (attribute->type == ATTRIBUTE_INT)
			config_print_integer(out, attribute->i);
		else if (attribute->type == ATTRIBUTE_INTS || attribute->type == ATTRIBUTE_FLOATS)
			print_list(out, attribute);
		else
			config_print_float(out, attribute->f);
		fputs("; ", out);
	}
	fputs("}", out);
}

static void print_lists(FILE *out, const struct config *config)
{
	fprintf(out, "schema = (%s\n", config->memory->schema_given ? "" : " # default");
	for (uint32_t i = 0; i < config->features - config->made; i++) {
		print_feature(out, &config->feature[i]);
		fputs(i + 1 < config->features - config->made ? ",\n" : "\n);\n", out);
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

/* Prints the rows of `preprocess` and the trials of a series as the file has them. */
static void print_as_given(FILE *out, const struct config *config)
{
	static const char *const names[] = { "preprocess", "experiments", "vary" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const config_setting_t *setting = config_lookup(&config->memory->file, names[i]);

		if (!setting)
			continue;
		fprintf(out, "%s = ", names[i]);
		config_tree_print(out, setting);
		fputs(";\n", out);
	}
}

static void print(const struct config *config, FILE *out)
{
	if (config->memory->sources_given)
		print_sources(out, config);
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];

		if (config_key_is_hidden(config->memory, key))
			continue;
		if (config_opens_group(i))
			fprintf(out, "%.*s: {\n", config_group_length(key), key->name);
		fprintf(out, "  %s = ", key->name + config_group_length(key) + 1);
		print_value(out, key, config);
		fprintf(out, ";%s\n", config->memory->given[i] ? "" : " # default");
		if (config_closes_group(i) && strncmp(key->name, "model.", 6) == 0)
			print_layers(out, config);
		if (config_closes_group(i))
			fputs("};\n", out);
	}
	print_lists(out, config);
	print_as_given(out, config);
}

int config_print(const struct config *config, char **ret_text, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (out)
		print(config, out);
	if (!out || fclose(out) != 0)
		return error_set(err, -ENOMEM, "no memory for a configuration");
	*ret_text = TAKE(text);
	return 0;
}

int config_show(const char *path, FILE *out, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = config_load(path, &config, err);

	if (r == 0)
		print(&config, out);
	return r;
}
