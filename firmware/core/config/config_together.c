/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of keys that depend on each other. */
#include "core/config/config_reading.h"

#include <inttypes.h>
#include <string.h>

/* A string with a mistake is NULL. */
static bool is_set(const char *text)
{
	return text && *text;
}

/* Checks that a base has a head, and that each key of the base has an effect. */
static void check_base(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const char *from = config->model.base_unfreeze_from;

	if (is_set(config->model.base) && !config->memory->layers_given)
		mistakes_add(reading->mistakes, config_line(config, "model.base"),
			     "model.layers: found nothing, allowed with model.base: the layers after it");
	if (is_set(from) && config->model.base_trainable)
		mistakes_add(reading->mistakes, config_line(config, "model.base_unfreeze_from"),
			     "model.base_unfreeze_from: found \"%.100s\", allowed: with "
			     "model.base_trainable = false",
			     from);
}

/* Checks that the finished model of a run on features can get the base: from the file of model.weights, and
 * from no other weights. */
static void check_features(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const char *of = config->model.features_of;

	if (!is_set(of))
		return;
	if (is_set(config->model.base))
		mistakes_add(
			reading->mistakes, config_line(config, "model.features_of"),
			"model.features_of: found \"%.100s\" beside model.base on line %u, allowed: one of "
			"them",
			of, config_line(config, "model.base"));
	if (config->model.weights && !*config->model.weights)
		mistakes_add(reading->mistakes, config_line(config, "model.features_of"),
			     "model.features_of: found \"%.100s\", allowed: with model.weights = the file "
			     "base.safetensors that kiln prep --features wrote",
			     of);
	if (config->run.start_from == START_LATEST)
		mistakes_add(reading->mistakes, config_line(config, "run.start_from"),
			     "run.start_from: found \"latest\", allowed with model.features_of: \"scratch\"");
}

/* Checks that model.input is a feature of numbers, where it is needed: it is not needed where the first layer
 * has a list of inputs. Whether the first layer can read the feature is checked by the model. */
static void check_input(struct config_reading *reading, const char *name)
{
	const struct config *config = reading->config;
	const struct config_feature *feature = config_feature_named(config, name);
	const bool needed =
		config->model.layers == 0 || config->model.layer[0].inputs == 0 || is_set(config->model.base);

	if (needed && name && (!feature || feature->dtype == CONFIG_BYTES))
		mistakes_add(reading->mistakes, config_line(config, "model.input"),
			     "model.input: found \"%s\", allowed: a float32, int64, uint8 or picture "
			     "feature of `schema`",
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
	else if (name && (!feature || (feature->dtype != CONFIG_INT64 && feature->dtype != CONFIG_FLOAT32)))
		mistakes_add(reading->mistakes, config_line(reading->config, "model.label"),
			     "model.label: found \"%s\", allowed: an int64 or float32 feature of "
			     "`schema`",
			     name);
}

/* Checks order.lanes: lanes times sources is limited by the places of the cursor, and a batch has at least
 * one row for each lane. */
static void check_lanes(struct config_reading *reading)
{
	const struct config *config = reading->config;
	uint64_t lanes = config->order.lanes,
		 most = CONFIG_STREAMS_MAX / (config->sources ? config->sources : 1);

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

/* Checks that checkpoints are configured in only one way: by steps, by minutes or automatically. Automatic is
 * the default, and is switched off where the file configures another way. */
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

/* Checks that the metrics which callbacks monitor exist, and that no two callbacks do the same thing. Whether
 * validation has shards is checked later, when the plan is made. */
static void check_callbacks(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const bool validation = config->split.by == SPLIT_BY_PREFIX || config->split.validation_percent > 0;
	const char *monitor = config_validation_monitor(config);

	if (monitor && !validation)
		mistakes_add(reading->mistakes, config_line(config, monitor),
			     "%s: found a metric of the validation, allowed while "
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

/* `list`: the stores are elements of a list, whose line has to do for all of them. */
static void check_store(struct config_reading *reading, const struct config_store *store, const char *group,
			const char *list)
{
	const char *allowed, *key = config_store_misfit(store, &allowed);
	char name[64];

	if (!key)
		return;
	(void)snprintf(name, sizeof(name), "%s.%s", list ? list : group, key);
	mistakes_add(reading->mistakes, config_line(reading->config, list ? list : name),
		     "%s: found with %s.url = \"%.100s\", allowed: %s", name, list ? list : group, store->url,
		     allowed);
}

/* lakeFS writes to branches alone, whose names have these characters. */
static void check_branch(struct config_reading *reading, const char *key, const char *branch)
{
	if (*branch == '-' ||
	    branch[strspn(branch, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")])
		mistakes_add(reading->mistakes, config_line(reading->config, key),
			     "%s: found the branch \"%.100s\", allowed: letters, digits, '_' and '-', the "
			     "first no "
			     "'-'",
			     key, branch);
}

/* The keys of branches have a meaning on lakefs:// alone. */
static void check_branches(struct config_reading *reading)
{
	static const char *const keys[] = { "sink.merge_into", "sink.keep_branches" };
	const struct config *config = reading->config;
	const bool given[] = { is_set(config->branches.merge_into), config->branches.keep != KEEP_ALL };
	struct config_lakefs parts;

	if (!is_set(config->sink.url))
		return;
	if (config_lakefs(config->sink.url, &parts)) {
		check_branch(reading, "sink.url", parts.ref);
		check_branch(reading, "sink.merge_into", config->branches.merge_into);
		return;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (given[i])
			mistakes_add(reading->mistakes, config_line(config, keys[i]),
				     "%s: found with sink.url = \"%.100s\", allowed: a url "
				     "lakefs://repository/branch",
				     keys[i], config->sink.url);
}

static void check_stores(struct config_reading *reading)
{
	const struct config *config = reading->config;

	for (uint32_t i = 0; i < config->sources; i++)
		check_store(reading, &config->source[i].store, "source",
			    config->memory->sources_given ? "sources" : NULL);
	check_store(reading, &config->sink, "sink", NULL);
	check_branches(reading);
}

static void check_one_of(struct config_reading *reading, const char *url, const char *credential,
			 const char *key, const char *beside)
{
	if (is_set(url) && is_set(credential))
		mistakes_add(reading->mistakes, config_line(reading->config, key),
			     "%s: found beside %s on line %u, allowed: one of them", key, beside,
			     config_line(reading->config, beside));
}

static void check_notify(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const char *from = config->notify.mail_from;

	check_one_of(reading, config->notify.url, config->notify.url_credential, "notify.url_credential",
		     "notify.url");
	check_one_of(reading, config->notify.heartbeat_url, config->notify.heartbeat_credential,
		     "notify.heartbeat_credential", "notify.heartbeat_url");
	if (is_set(config->notify.mail_server) && (!is_set(from) || strchr(from, ',')))
		mistakes_add(
			reading->mistakes, config_line(config, "notify.mail_from"),
			"notify.mail_from: found \"%.100s\", allowed with notify.mail_server: one address",
			from ? from : "");
	if (is_set(config->notify.mail_server) && !is_set(config->notify.mail_to))
		mistakes_add(
			reading->mistakes, config_line(config, "notify.mail_to"),
			"notify.mail_to: found \"\", allowed with notify.mail_server: at least one address");
}

void config_check_together(struct config_reading *reading)
{
	const struct config *config = reading->config;

	check_stores(reading);
	check_lanes(reading);
	config_check_objects(reading);
	choose_checkpoints(reading);
	check_callbacks(reading);
	check_notify(reading);
	check_base(reading);
	check_features(reading);
	config_check_ranks(reading);

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
