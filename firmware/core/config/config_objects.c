/* SPDX-License-Identifier: Apache-2.0 */
/* What source.format = "objects" asks of other keys. */
#include "core/config/config_reading.h"

#include <string.h>

#define WITH "with source.format \"objects\""

bool config_reads_objects(const struct config *config)
{
	return config->source[0].format == FORMAT_OBJECTS;
}

/* Keys come in bytewise order, so the last ones are of one class. */
static void choose_split(struct config_reading *reading)
{
	struct config *config = reading->config;

	if (!config_lookup(&config->memory->file, "split.by"))
		config->split.by = SPLIT_BY_HASH;
	else if (config->split.by == SPLIT_BY_SHARD)
		mistakes_add(reading->mistakes, config_line(config, "split.by"),
			     "split.by: found \"shard\", allowed " WITH ": \"hash\", \"prefix\", as the last "
			     "keys are of one class");
}

static void check_order(struct config_reading *reading)
{
	const struct config *config = reading->config;

	if (config->order.mode == ORDER_FAST)
		mistakes_add(reading->mistakes, config_line(config, "order.mode"),
			     "order.mode: found \"fast\", allowed " WITH ": \"exact\"");
	if (config->order.filter && *config->order.filter)
		mistakes_add(reading->mistakes, config_line(config, "order.filter"),
			     "order.filter: found \"%s\", allowed " WITH ": \"\"", config->order.filter);
}

static bool is_label(const struct config *config, const struct config_feature *feature)
{
	return feature == config_feature_named(config, config->model.label);
}

/* An object has its bytes and its class, and no other feature. */
static void check_schema(struct config_reading *reading)
{
	const struct config *config = reading->config;
	const unsigned line = config_line(config, "schema");
	unsigned pictures = 0;

	for (uint32_t i = 0; i < config->features; i++) {
		const struct config_feature *feature = &config->feature[i];

		pictures += feature->dtype == CONFIG_PICTURE;
		if (feature->dtype != CONFIG_PICTURE && !is_label(config, feature))
			mistakes_add(reading->mistakes, line,
				     "schema: found the feature \"%s\", allowed " WITH ": one of dtype "
				     "\"picture\", and the one that model.label names",
				     feature->name);
		if (is_label(config, feature) && (feature->dtype != CONFIG_INT64 || feature->rank > 1))
			mistakes_add(
				reading->mistakes, line,
				"schema: found the label \"%s\" with another dtype or shape, allowed " WITH
				": int64, shape [ 1 ] or [ classes ]",
				feature->name);
	}
	if (pictures != 1)
		mistakes_add(reading->mistakes, line,
			     "schema: found %u features of dtype \"picture\", allowed " WITH ": 1", pictures);
}

void config_check_objects(struct config_reading *reading)
{
	if (!config_reads_objects(reading->config))
		return;
	choose_split(reading);
	check_order(reading);
	if (reading->config->features > 0)
		check_schema(reading);
}
