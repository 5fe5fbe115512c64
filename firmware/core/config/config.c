/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/nearest.h"
#include "core/base/paths.h"
#include "core/config/config_overlay.h"
#include "core/config/config_reading.h"
#include "core/config/config_scan.h"

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

/* Finds the key that the file meant: a key of the group with a similar name or, where there is none, the only
 * key of this name in another group. */
static const char *meant_key(const char *group, const char *key, char out[static NEAREST_TEXT_BYTES])
{
	struct nearest nearest = { .typed = key }, full = { .typed = key };
	const char *near = "", *elsewhere = "";
	unsigned others = 0;

	for (size_t i = 0; i < config_keys_count; i++) {
		const size_t length = (size_t)config_group_length(&config_keys[i]);
		const char *name = config_keys[i].name + length + 1;

		if (strlen(group) == length && strncmp(config_keys[i].name, group, length) == 0) {
			nearest_try(&nearest, name);
			near = strcmp(nearest.word, name) == 0 ? config_keys[i].name : near;
		} else if (strcmp(name, key) == 0) {
			elsewhere = config_keys[i].name;
			others++;
		}
	}
	(void)snprintf(full.word, sizeof(full.word), "%s", *near || others != 1 ? near : elsewhere);
	return nearest_text(&full, out);
}

/* What a file has beside the groups of keys. The trials, `experiments` and `vary`, are read by core/series.
 */
static const char *const no_groups[] = { "schema", "preprocess", "sources", "experiments", "vary" };

static bool is_no_group(const char *name)
{
	for (size_t i = 0; i < sizeof(no_groups) / sizeof(*no_groups); i++)
		if (strcmp(name, no_groups[i]) == 0)
			return true;
	return false;
}

static const char *meant_group(const char *name, char out[static NEAREST_TEXT_BYTES])
{
	struct nearest nearest = { .typed = name };
	char group[NEAREST_WORD_BYTES];

	for (size_t i = 0; i < sizeof(no_groups) / sizeof(*no_groups); i++)
		nearest_try(&nearest, no_groups[i]);
	for (size_t i = 0; i < config_keys_count; i++) {
		(void)snprintf(group, sizeof(group), "%.*s", config_group_length(&config_keys[i]),
			       config_keys[i].name);
		nearest_try(&nearest, group);
	}
	return nearest_text(&nearest, out);
}

/* Finds what a name outside of the groups meant: a key that a group has, or a group with a similar name. */
static const char *meant_outside(const char *name, char out[static NEAREST_TEXT_BYTES])
{
	return *meant_key("", name, out) ? out : meant_group(name, out);
}

static void read_group(struct config_reading *reading, const config_setting_t *group)
{
	const char *name = config_setting_name(group);
	char meant[NEAREST_TEXT_BYTES];

	if (config_setting_type(group) != CONFIG_TYPE_GROUP) {
		mistakes_add(reading->mistakes, config_setting_source_line(group),
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
			mistakes_add(
				reading->mistakes, config_setting_source_line(setting),
				"%s.%s: found an unknown key, allowed: the keys of `kiln config reference`%s",
				name, key_name, meant_key(name, key_name, meant));
		}
	}
}

static void read_flat_keys(struct config_reading *reading, const config_setting_t *root)
{
	char meant[NEAREST_TEXT_BYTES];

	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);
		const char *name = config_setting_name(setting);

		if (is_group(name))
			read_group(reading, setting);
		else if (!is_no_group(name))
			mistakes_add(reading->mistakes, config_setting_source_line(setting),
				     "%s: found an unknown group, allowed: the groups of `kiln config "
				     "reference`%s",
				     name, meant_outside(name, meant));
	}
	for (size_t i = 0; i < config_keys_count; i++) {
		if (reading->config->memory->given[i] ||
		    config_key_is_replaced(reading->config->memory, &config_keys[i]))
			continue;
		if (config_keys[i].fallback)
			config_read_fallback(&config_keys[i], reading->config);
		else
			mistakes_add(reading->mistakes, config_line(reading->config, config_keys[i].name),
				     "%s: found nothing, it must be given", config_keys[i].name);
	}
}

/* Reads the list `sources`. Without this list the group `source` becomes the only source. */
static void read_sources(struct config_reading *reading)
{
	struct config *config = reading->config;
	const config_setting_t *list = config_lookup(&config->memory->file, "sources");

	if (list && config_lookup(&config->memory->file, "source"))
		mistakes_add(reading->mistakes, config_setting_source_line(list),
			     "sources: found beside source, allowed: one of them");
	else if (list)
		config_read_sources(reading, list);
	if (list)
		return;
	config->sources = 1;
	config->source[0].weight = 1;
	config->source[0].train_glob = config->split.train_glob;
	config->source[0].validation_glob = config->split.validation_glob;
	config->source[0].test_glob = config->split.test_glob;
}

/* Returns a list from the file or, where the file does not have it, the default list. */
static const config_setting_t *list_of(struct config_memory *memory, const char *path, bool *ret_given)
{
	const config_setting_t *list = config_lookup(&memory->file, path);

	*ret_given = list != NULL;
	return list ? list : config_lookup(&memory->lists, path);
}

static void read_all(struct config_reading *reading, struct config_memory *memory)
{
	struct config *config = reading->config;
	unsigned before;

	memory->sources_given = config_lookup(&memory->file, "sources") != NULL;
	read_flat_keys(reading, config_root_setting(&memory->file));
	read_sources(reading);
	before = reading->mistakes->count;
	config_read_schema(reading, list_of(memory, "schema", &memory->schema_given));
	if (reading->mistakes->count > before)
		config->features = 0;
	else if (config_lookup(&memory->file, "preprocess"))
		config_read_preprocess(reading, config_lookup(&memory->file, "preprocess"));
	if (reading->mistakes->count > before)
		config->features = config->made = 0;
	config_read_layers(reading, list_of(memory, "model.layers", &memory->layers_given));
	/* Line numbers inside the default list are no lines of this file, so use the line of the key
	 * instead. */
	for (uint32_t i = 0; !memory->layers_given && i < config->model.layers; i++)
		config->model.layer[i].line = config_line(config, "model.layers");
	config_check_together(reading);
}

/* Parses the text. Errors: -EINVAL wrong syntax: no key can be checked. */
static int parse(struct config_memory *memory, struct mistakes *mistakes)
{
	CLEANUP(free_ptr) char *raw = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char lists[2048];
	uint64_t bytes;
	int r = file_read(memory->path, CONFIG_BYTES_MAX, &raw, &bytes, mistakes->err);

	if (r == 0)
		r = config_scan(raw, bytes, mistakes, &text);
	if (r < 0)
		return r;
	if (!config_read_string(&memory->file, text))
		return config_refuse_syntax(&memory->file, raw, mistakes);
	(void)snprintf(lists, sizeof(lists), "%smodel = { %s };", config_default_schema,
		       config_default_layers);
	if (!config_read_string(&memory->lists, lists))
		return error_set(mistakes->err, -EINVAL, "the default lists: line %d: %s",
				 config_error_line(&memory->lists), config_error_text(&memory->lists));
	return 0;
}

int config_open(const struct config_overlay *overlay, struct mistakes *mistakes, struct config *ret_config)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct config_reading reading = { .config = &config, .mistakes = mistakes };
	int r;

	config.memory = calloc(1, sizeof(*config.memory));
	if (config.memory)
		config.file = config.memory->path = strdup(mistakes->file);
	if (!config.file)
		return error_set(mistakes->err, -ENOMEM, "%s: no memory", mistakes->file);
	config_init(&config.memory->file);
	config_init(&config.memory->lists);
	r = parse(config.memory, mistakes);
	if (r == 0 && overlay)
		r = config_lay_over(config.memory, overlay, mistakes);
	if (r < 0)
		return r;
	read_all(&reading, config.memory);
	*ret_config = config;
	config.memory = NULL;
	return 0;
}

int config_open_good(const struct config_overlay *overlay, struct mistakes *mistakes,
		     struct config *ret_config)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = config_open(overlay, mistakes, &config);

	if (r == 0 && mistakes->count)
		r = -EINVAL;
	if (r < 0)
		return r;
	*ret_config = config;
	config.memory = NULL;
	return 0;
}

int config_load(const char *path, struct config *ret_config, struct error *err)
{
	struct mistakes mistakes = { .file = path, .err = err };

	return config_open_good(NULL, &mistakes, ret_config);
}

void config_done(struct config *config)
{
	if (!config->memory)
		return;
	config_destroy(&config->memory->file);
	config_destroy(&config->memory->lists);
	config_preprocess_free(config->memory);
	free(config->memory->layer);
	free(config->memory->path);
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
