/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/config/config_reading.h"
#include "core/config/config_scan.h"
#include "core/ring/cursor.h"

#include <inttypes.h>
#include <string.h>

#define CONFIG_BYTES_MAX  (1u << 20)
#define CONNECTIONS_LEAST 8u
#define CONNECTIONS_MOST  256u
#define PART_LEAST_BYTES  (UINT64_C(64) << 10)
#define PART_MOST_BYTES   (UINT64_C(32) << 20)

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
				"%s.%s: found an unknown key, allowed: the keys of `kiln config reference`",
				name, key_name);
		}
	}
}

size_t config_next_name(const char **list)
{
	*list += strspn(*list, ", ");
	return strcspn(*list, ", ");
}

unsigned config_line(const struct config *config, const char *key)
{
	const config_setting_t *found;
	char group[64];

	if (!config->memory)
		return 1;
	(void)snprintf(group, sizeof(group), "%.*s", (int)strcspn(key, "."), key);
	found = config_lookup(&config->memory->file, key);
	if (!found)
		found = config_lookup(&config->memory->file, group);
	return found ? config_setting_source_line(found) : 1;
}

bool config_key_is_replaced(const struct config_memory *memory, const struct config_key *key)
{
	return memory->sources_given && strncmp(key->name, "source.", 7) == 0;
}

static void read_flat_keys(struct config_reading *reading, const config_setting_t *root)
{
	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);
		const char *name = config_setting_name(setting);

		if (is_group(name))
			read_group(reading, setting);
		else if (strcmp(name, "schema") != 0 && strcmp(name, "sources") != 0)
			mistakes_add(
				reading->mistakes, config_setting_source_line(setting),
				"%s: found an unknown group, allowed: the groups of `kiln config reference`",
				name);
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

const struct config_feature *config_feature_named(const struct config *config, const char *name)
{
	for (uint32_t i = 0; name && i < config->features; i++)
		if (strcmp(config->feature[i].name, name) == 0)
			return &config->feature[i];
	return NULL;
}

/* Which of them a layer can read, the table of layers says. Layers that all name their inputs need none. */
static void check_input(struct config_reading *reading, const char *name)
{
	const struct config *config = reading->config;
	const struct config_feature *feature = config_feature_named(config, name);
	const bool needed = config->model.layers == 0 || config->model.layer[0].inputs == 0;

	if (needed && name && (!feature || feature->dtype == CONFIG_BYTES))
		mistakes_add(reading->mistakes, config_line(config, "model.input"),
			     "model.input: found \"%s\", allowed: a float32 or int64 feature of `schema`",
			     name);
}

static void check_label(struct config_reading *reading, const char *name)
{
	const struct config_feature *feature = config_feature_named(reading->config, name);

	if (name && feature && feature->values_max > 0)
		mistakes_add(
			reading->mistakes, config_line(reading->config, "model.label"),
			"model.label: found \"%s\", which is ragged, allowed: an int64 or float32 feature of "
			"a fixed shape",
			name);
	else if (name && (!feature || feature->dtype == CONFIG_BYTES))
		mistakes_add(reading->mistakes, config_line(reading->config, "model.label"),
			     "model.label: found \"%s\", allowed: an int64 or float32 feature of "
			     "`schema`",
			     name);
}

/* The cursor has a place for each lane of each source, and a batch a row for each lane. */
static void check_lanes(struct config_reading *reading)
{
	const struct config *config = reading->config;
	uint64_t lanes = config->order.lanes,
		 most = CURSOR_PLACES_MAX / (config->sources ? config->sources : 1);

	if (lanes > most)
		mistakes_add(reading->mistakes, config_line(config, "order.lanes"),
			     "order.lanes: found %" PRIu64 ", allowed with %u sources: 1 .. %" PRIu64, lanes,
			     config->sources, most);
	if (config->run.batch_rows > 0 && lanes > config->run.batch_rows)
		mistakes_add(reading->mistakes, config_line(config, "order.lanes"),
			     "order.lanes: found %" PRIu64 ", allowed: at most run.batch_rows, %" PRIu64,
			     lanes, config->run.batch_rows);
}

static bool is_given(const struct config *config, const char *key)
{
	return config_lookup(&config->memory->file, key) != NULL;
}

/* One of three ways; the default one steps back where another is named. */
static void choose_checkpoints(struct config_reading *reading)
{
	static const char *const keys[] = { "checkpoint.every_steps", "checkpoint.every_minutes",
					    "checkpoint.auto" };
	struct config *config = reading->config;
	const char *first = NULL;

	if (!is_given(config, keys[2]) && (is_given(config, keys[0]) || is_given(config, keys[1])))
		config->checkpoint.automatic = false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const bool chosen[] = { config->checkpoint.every_steps > 0,
					config->checkpoint.every_minutes > 0, config->checkpoint.automatic };

		if (chosen[i] && first)
			mistakes_add(reading->mistakes, config_line(config, keys[i]),
				     "%s: found beside %s on line %u, allowed: one of them", keys[i], first,
				     config_line(config, first));
		else if (chosen[i])
			first = keys[i];
	}
}

const char *config_validation_monitor(const struct config *config)
{
	return config->early_stopping.monitor >= MONITOR_VAL_LOSS      ? "early_stopping.monitor"
	       : config->reduce_on_plateau.monitor >= MONITOR_VAL_LOSS ? "reduce_on_plateau.monitor"
	       : config->keep_best.monitor >= MONITOR_VAL_LOSS         ? "keep_best.monitor"
								       : NULL;
}

/* What callbacks watch is there, and none of them takes another's place. Whether the split has shards, who
 * makes the plan sees. */
static void check_callbacks(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const bool validation = config->split.by != SPLIT_BY_SHARD || config->split.validation_percent > 0;
	const char *monitor = config_validation_monitor(config);

	if (monitor && !validation)
		mistakes_add(reading->mistakes, config_line(config, monitor),
			     "%s: found a figure of the validation, allowed while "
			     "split.validation_percent is 0: \"loss\", \"accuracy\"",
			     monitor);
	if (config->early_stopping.restore_best && config->early_stopping.monitor != MONITOR_NONE &&
	    config->keep_best.monitor != MONITOR_NONE)
		mistakes_add(
			reading->mistakes, config_line(config, "keep_best.monitor"),
			"keep_best.monitor: found beside early_stopping.restore_best on line %u, allowed: "
			"one of them",
			config_line(config, "early_stopping.restore_best"));
	if (config->reduce_on_plateau.monitor != MONITOR_NONE && config->optimizer.schedule &&
	    strcmp(config->optimizer.schedule, "constant") != 0)
		mistakes_add(reading->mistakes, config_line(config, "reduce_on_plateau.monitor"),
			     "reduce_on_plateau.monitor: found beside optimizer.schedule on line %u, allowed "
			     "with schedule \"constant\" alone",
			     config_line(config, "optimizer.schedule"));
}

/* What no single row can say. */
static void check_together(struct config_reading *reading)
{
	const struct config *config = reading->config;

	check_lanes(reading);
	choose_checkpoints(reading);
	check_callbacks(reading);

	for (uint32_t i = 0; i < config->features; i++)
		if (config_feature_named(config, config->feature[i].name) != &config->feature[i])
			mistakes_add(reading->mistakes, config_line(config, "schema"),
				     "schema.name: found \"%s\" twice, allowed: once",
				     config->feature[i].name);
	if (config->features == 0)
		return;
	check_input(reading, config->model.input);
	check_label(reading, config->model.label);
}

/* The list, else the group as a list of one. */
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

/* The file's own list, else the default's. */
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
	config_read_layers(reading, list_of(memory, "model.layers", &memory->layers_given));
	/* The default's own lines are none of the file's. */
	for (uint32_t i = 0; !memory->layers_given && i < config->model.layers; i++)
		config->model.layer[i].line = config_line(config, "model.layers");
	check_together(reading);
}

/* libconfig stops at the first and names no key; the line itself says most. */
static int refuse_syntax(struct config_memory *memory, const char *text, struct mistakes *mistakes)
{
	int line = config_error_line(&memory->file);

	for (int i = 1; i < line && strchr(text, '\n'); i++)
		text = strchr(text, '\n') + 1;
	text += strspn(text, " \t");
	if (!*text)
		text = "at the end of the file";
	mistakes_add(mistakes, (unsigned)line, "%s: %.*s", config_error_text(&memory->file),
		     (int)strcspn(text, "\r\n") < 100 ? (int)strcspn(text, "\r\n") : 100, text);
	return -EINVAL;
}

/* -EINVAL: what follows would make no sense. */
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
		return refuse_syntax(memory, raw, mistakes);
	(void)snprintf(lists, sizeof(lists), "%smodel = { %s };", config_default_schema,
		       config_default_layers);
	if (!config_read_string(&memory->lists, lists))
		return error_set(mistakes->err, -EINVAL, "the default lists: line %d: %s",
				 config_error_line(&memory->lists), config_error_text(&memory->lists));
	return 0;
}

static int load(struct mistakes *mistakes, void (*check)(const struct config *, struct mistakes *),
		struct config *ret_config)
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
	config.model.layer = config.memory->layer;
	r = parse(config.memory, mistakes);
	if (r < 0)
		return r;
	read_all(&reading, config.memory);
	if (check)
		check(&config, mistakes);
	if (mistakes->count)
		return -EINVAL;
	*ret_config = config;
	config.memory = NULL;
	return 0;
}

int config_load(const char *path, struct config *ret_config, struct error *err)
{
	struct mistakes mistakes = { .file = path, .err = err };

	return load(&mistakes, NULL, ret_config);
}

int config_check(const char *path, void (*check)(const struct config *config, struct mistakes *mistakes),
		 FILE *out)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	struct mistakes mistakes = { .file = path, .out = out, .err = &err };
	int r = load(&mistakes, check, &config);

	if (r < 0 && mistakes.count == 0)
		fprintf(out, "%s\n", err.text);
	return r;
}

uint64_t config_fetch_cache_backlog_bytes(const struct config *config)
{
	return config->fetch.cache_bytes > 0 ? config->fetch.memory_bytes / 8 : 0;
}

void config_done(struct config *config)
{
	if (!config->memory)
		return;
	config_destroy(&config->memory->file);
	config_destroy(&config->memory->lists);
	free(config->memory->path);
	free(config->memory);
	memset(config, 0, sizeof(*config));
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

uint64_t config_fetch_connections(const struct config *config)
{
	uint64_t budget = config->fetch.memory_bytes / 8;

	return config->fetch.connections
		       ? config->fetch.connections
		       : within(budget / CONFIG_CONNECTION_BYTES, CONNECTIONS_LEAST, CONNECTIONS_MOST);
}

/* Each range costs both sides: from radosgw, 32 MiB ranges took 0.70 CPU-s/GB, 8 MiB ranges 0.88, and larger
 * ones no less. A small budget still has 64 of its own. */
uint64_t config_fetch_part_bytes(const struct config *config)
{
	return config->fetch.part_bytes
		       ? within(config->fetch.part_bytes, PART_LEAST_BYTES, UINT64_MAX)
		       : within(config->fetch.memory_bytes / 64, PART_LEAST_BYTES, PART_MOST_BYTES);
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
