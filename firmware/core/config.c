/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config_reading.h"
#include "core/config_scan.h"
#include "core/paths.h"

#include <string.h>

#define CONFIG_BYTES_MAX (1u << 20)

static bool is_group(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < config_keys_count; i++)
		if (strncmp(config_keys[i].name, name, length) == 0 && config_keys[i].name[length] == '.')
			return true;
	return false;
}

static void read_group(struct config_reading *reading, const config_setting_t *group)
{
	const char *name = config_setting_name(group);

	if (config_setting_type(group) != CONFIG_TYPE_GROUP) {
		config_mistake(reading, config_setting_source_line(group),
			       "%s: found %s, allowed: a group { ... }", name, config_type_name(group));
		return;
	}
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
		const char *key_name = config_setting_name(setting);
		const struct config_key *key =
			config_find_key(config_keys, config_keys_count, name, key_name);

		if (key) {
			reading->config->memory->given[key - config_keys] = true;
			config_read_value(reading, key, setting, reading->config);
		} else if (strcmp(name, "model") != 0 || strcmp(key_name, "layers") != 0) {
			config_mistake(
				reading, config_setting_source_line(setting),
				"%s.%s: found an unknown key, allowed: the keys of `kiln config reference`",
				name, key_name);
		}
	}
}

/* Of a key, else of its group, else the first. */
static unsigned line_of(const struct config_reading *reading, const char *name)
{
	const config_t *file = &reading->config->memory->file;
	const config_setting_t *found = config_lookup(file, name);
	char group[64];

	(void)snprintf(group, sizeof(group), "%.*s", (int)strcspn(name, "."), name);
	if (!found)
		found = config_lookup(file, group);
	return found ? config_setting_source_line(found) : 1;
}

static void read_flat_keys(struct config_reading *reading, const config_setting_t *root)
{
	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);
		const char *name = config_setting_name(setting);

		if (is_group(name))
			read_group(reading, setting);
		else if (strcmp(name, "schema") != 0)
			config_mistake(
				reading, config_setting_source_line(setting),
				"%s: found an unknown group, allowed: the groups of `kiln config reference`",
				name);
	}
	for (size_t i = 0; i < config_keys_count; i++) {
		if (reading->config->memory->given[i])
			continue;
		if (config_keys[i].fallback)
			config_read_fallback(&config_keys[i], reading->config);
		else
			config_mistake(reading, line_of(reading, config_keys[i].name),
				       "%s: found nothing, it must be given", config_keys[i].name);
	}
}

static const struct config_feature *feature_named(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->features; i++)
		if (config->feature[i].name && strcmp(config->feature[i].name, name) == 0)
			return &config->feature[i];
	return NULL;
}

/* What no single row can say. */
static void check_together(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const struct config_feature *input = feature_named(config, config->model.input);
	const struct config_feature *label = feature_named(config, config->model.label);

	for (uint32_t i = 0; i < config->features; i++)
		if (feature_named(config, config->feature[i].name) != &config->feature[i])
			config_mistake(reading, line_of(reading, "schema"),
				       "schema.name: found \"%s\" twice, allowed: once",
				       config->feature[i].name);
	if (!input || input->dtype != CONFIG_FLOAT32)
		config_mistake(reading, line_of(reading, "model.input"),
			       "model.input: found \"%s\", allowed: a float32 feature of `schema`",
			       config->model.input);
	if (!label || label->dtype != CONFIG_INT64)
		config_mistake(reading, line_of(reading, "model.label"),
			       "model.label: found \"%s\", allowed: an int64 feature of `schema`",
			       config->model.label);
}

/* The file's own list, else the default's. */
static const config_setting_t *list_of(struct config_memory *memory, const char *path, bool *ret_given)
{
	const config_setting_t *list = config_lookup(&memory->file, path);

	*ret_given = list != NULL;
	return list ? list : config_lookup(&memory->lists, path);
}

static int read_all(struct config_reading *reading, struct config_memory *memory)
{
	read_flat_keys(reading, config_root_setting(&memory->file));
	config_read_schema(reading, list_of(memory, "schema", &memory->schema_given));
	config_read_layers(reading, list_of(memory, "model.layers", &memory->layers_given));
	if (reading->mistakes == 0)
		check_together(reading);
	return reading->mistakes ? -EINVAL : 0;
}

/* libconfig stops at the first and names no key; the line itself says most. */
static int refuse_syntax(struct config_memory *memory, const char *path, const char *text, struct error *err)
{
	int line = config_error_line(&memory->file);

	for (int i = 1; i < line && strchr(text, '\n'); i++)
		text = strchr(text, '\n') + 1;
	text += strspn(text, " \t");
	if (!*text)
		text = "at the end of the file";
	return error_set(err, -EINVAL, "%s:%d: %s: %.*s", path, line, config_error_text(&memory->file),
			 (int)strcspn(text, "\r\n") < 100 ? (int)strcspn(text, "\r\n") : 100, text);
}

static int parse(struct config_memory *memory, const char *path, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char lists[2048];
	uint64_t bytes;
	int r = file_read(path, CONFIG_BYTES_MAX, &text, &bytes, err);

	if (r == 0)
		r = config_scan(path, text, bytes, err);
	if (r < 0)
		return r;
	if (!config_read_string(&memory->file, text))
		return refuse_syntax(memory, path, text, err);
	(void)snprintf(lists, sizeof(lists), "%smodel = { %s };", config_default_schema,
		       config_default_layers);
	if (!config_read_string(&memory->lists, lists))
		return error_set(err, -EINVAL, "the default lists: line %d: %s",
				 config_error_line(&memory->lists), config_error_text(&memory->lists));
	return 0;
}

int config_load(const char *path, struct config *ret_config, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error unused;
	struct config_reading reading = { .file = path, .config = &config, .err = err ? err : &unused };
	int r;

	config.memory = calloc(1, sizeof(*config.memory));
	if (!config.memory)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	config_init(&config.memory->file);
	config_init(&config.memory->lists);
	config.model.layer = config.memory->layer;
	r = parse(config.memory, path, reading.err);
	if (r < 0)
		return r;
	reading.err->text[0] = '\0';
	r = read_all(&reading, config.memory);
	if (r < 0)
		return r;
	*ret_config = config;
	config.memory = NULL;
	return 0;
}

void config_done(struct config *config)
{
	if (!config->memory)
		return;
	config_destroy(&config->memory->file);
	config_destroy(&config->memory->lists);
	free(config->memory);
	memset(config, 0, sizeof(*config));
}

const char *config_path(int argc, char **argv)
{
	static char path[PATH_BYTES];
	const char *from_environment = getenv("KILN_CONFIG");

	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--config") == 0)
			return argv[i + 1];
	return from_environment ? from_environment : path_of(PATH_CONFIG, NULL, path);
}
