/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/nearest.h"
#include "core/config/config_reading.h"

#include <inttypes.h>
#include <string.h>

#define ELEMENTS_MAX  (1 << 28) /* largest number of values of one feature in one record: 1 or 2 GiB */
#define RAGGED_SUFFIX "/splits" /* added to the name of a ragged feature to name a column */
#define FILL_MAX      9007199254740991.0

/* ---- An element with a table of keys ---- */

static void refuse_unknown(struct config_reading *reading, const config_setting_t *setting,
			   const struct config_key *keys, size_t count, const char *other)
{
	const char *name = config_setting_name(setting);
	struct nearest nearest = { .typed = name };
	char allowed[256], meant[NEAREST_TEXT_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		nearest_try(&nearest, keys[i].name);
	nearest_try(&nearest, other);
	for (size_t i = 0; i < count && used < sizeof(allowed); i++)
		used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s", i ? ", " : "",
					 keys[i].name);
	mistakes_add(reading->mistakes, config_setting_source_line(setting),
		     "%s%s: found an unknown key, allowed: %s%s%s%s", reading->list, name, allowed,
		     *other ? ", " : "", other, nearest_text(&nearest, meant));
}

/* Reads one element of a list by the table of its keys. `other`: a further key that the caller reads; "" =
 * none. */
static void read_element(struct config_reading *reading, const config_setting_t *group,
			 const struct config_key *keys, size_t count, const char *other, void *element)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
		const char *name = config_setting_name(setting);
		const struct config_key *key = config_find_key(keys, count, "", name);

		if (key)
			config_read_value(reading, key, setting, element);
		else if (strcmp(name, other) != 0)
			refuse_unknown(reading, setting, keys, count, other);
	}
	for (size_t i = 0; i < count; i++) {
		if (config_setting_get_member(group, keys[i].name))
			continue;
		if (keys[i].fallback)
			config_read_fallback(&keys[i], element);
		else
			mistakes_add(reading->mistakes, config_setting_source_line(group),
				     "%s%s: found nothing, it must be given", reading->list, keys[i].name);
	}
}

void config_read_list(struct config_reading *reading, const config_setting_t *list, const char *name,
		      unsigned max, const char *elements,
		      void (*read)(struct config_reading *reading, const config_setting_t *group))
{
	int count = config_setting_length(list);
	char found[128];

	if (config_setting_type(list) != CONFIG_TYPE_LIST || count < 1 || count > (int)max) {
		mistakes_add(reading->mistakes, config_setting_source_line(list),
			     "%s: found %s, allowed: a list ( ) of 1 .. %u %s", name,
			     config_found(list, found, sizeof(found)), max, elements);
		return;
	}
	for (int i = 0; i < count; i++) {
		const config_setting_t *group = config_setting_get_elem(list, (unsigned)i);

		if (config_setting_type(group) != CONFIG_TYPE_GROUP)
			mistakes_add(reading->mistakes, config_setting_source_line(group),
				     "%s: found %s, allowed: groups { ... }", name, config_type_name(group));
		else
			read(reading, group);
	}
}

/* ---- schema ---- */

static void read_shape(struct config_reading *reading, const config_setting_t *shape,
		       struct config_feature *feature)
{
	int rank = config_setting_length(shape);
	long long elements = 1;
	char found[128];

	if (config_setting_type(shape) != CONFIG_TYPE_ARRAY || rank > (int)CONFIG_SHAPE_MAX) {
		mistakes_add(reading->mistakes, config_setting_source_line(shape),
			     "schema.shape: found %s, allowed: [ ] of up to %u sizes",
			     config_found(shape, found, sizeof(found)), CONFIG_SHAPE_MAX);
		return;
	}
	feature->rank = (uint32_t)rank;
	for (int i = 0; i < rank; i++) {
		const config_setting_t *element = config_setting_get_elem(shape, (unsigned)i);
		long long size = config_setting_get_int64(element); /* 0: not an integer */

		if (size < 1 || size > (long long)ELEMENTS_MAX / elements) {
			mistakes_add(reading->mistakes, config_setting_source_line(shape),
				     "schema.shape: found %s, allowed: sizes from 1, %d together",
				     config_found(element, found, sizeof(found)), ELEMENTS_MAX);
			return;
		}
		elements *= size;
		feature->shape[i] = (uint64_t)size;
	}
}

/* Checks the name of a feature, which becomes the name of a column in the ring. The name "empty" is used by a
 * column of the ring itself. */
void config_check_feature_name(struct config_reading *reading, const config_setting_t *group,
			       const char *name)
{
	if (!*name || strlen(name) >= CONFIG_FEATURE_NAME_BYTES || strcmp(name, "empty") == 0)
		mistakes_add(reading->mistakes, config_setting_source_line(group),
			     "%sname: found \"%.100s\", allowed: 1 .. %u bytes, not \"empty\"", reading->list,
			     name, CONFIG_FEATURE_NAME_BYTES - 1);
}

static const char *dtype_name(const struct config_feature *feature)
{
	return config_find_key(config_feature_keys, config_feature_keys_count, "", "dtype")
		->names[feature->dtype];
}

/* Checks the value `fill` of a feature of integers. It is stored as double, which represents each integer up
 * to 2^53 - 1 exactly. */
static void check_whole_fill(struct config_reading *reading, const config_setting_t *group,
			     const struct config_feature *feature)
{
	const config_setting_t *setting = config_setting_get_member(group, "fill");
	const bool small = feature->dtype == CONFIG_UINT8;
	const double fill = feature->fill, least = small ? 0 : -FILL_MAX, most = small ? 255 : FILL_MAX;
	char found[128];

	if (setting && (fill < least || fill > most || fill != (double)(int64_t)fill))
		mistakes_add(reading->mistakes, config_setting_source_line(setting),
			     "schema.fill: found %s, allowed with dtype \"%s\": an integer, %.0f .. %.0f",
			     config_found(setting, found, sizeof(found)), dtype_name(feature), least, most);
}

static unsigned line_of(const config_setting_t *group, const char *key)
{
	const config_setting_t *setting = config_setting_get_member(group, key);

	return config_setting_source_line(setting ? setting : group);
}

void config_check_ragged_name(struct config_reading *reading, const config_setting_t *group, const char *name)
{
	const size_t most = CONFIG_FEATURE_NAME_BYTES - sizeof(RAGGED_SUFFIX);

	if (strlen(name) > most)
		mistakes_add(reading->mistakes, line_of(group, "name"),
			     "%sname: found \"%.100s\", allowed for a ragged feature: 1 .. %zu bytes",
			     reading->list, name, most);
}

/* Checks a ragged feature, that is, one with values_max. Its rows have different lengths, so keys that fix
 * the number of values are refused. */
static void check_ragged(struct config_reading *reading, const config_setting_t *group,
			 const struct config_feature *feature)
{
	if (feature->dtype != CONFIG_FLOAT32 && feature->dtype != CONFIG_INT64)
		mistakes_add(reading->mistakes, line_of(group, "values_max"),
			     "schema.values_max: found %" PRIu64 ", allowed with dtype \"%s\": 0",
			     feature->values_max, dtype_name(feature));
	if (feature->rank > 0)
		mistakes_add(reading->mistakes, line_of(group, "shape"),
			     "schema.shape: found %u sizes, allowed beside values_max: [ ]", feature->rank);
	if (feature->missing == MISSING_DEFAULT)
		mistakes_add(reading->mistakes, line_of(group, "missing"),
			     "schema.missing: found \"default\", allowed beside values_max: no "
			     "`missing`, because a record without the feature has no values");
	if (feature->name)
		config_check_ragged_name(reading, group, feature->name);
}

/* Checks a feature with padding. A record may have no value of it, so `missing` has no meaning. */
static void check_padded(struct config_reading *reading, const config_setting_t *group,
			 const struct config_feature *feature)
{
	const config_setting_t *padding = config_setting_get_member(group, "padding");
	char found[128];

	if (feature->dtype != CONFIG_FLOAT32 && feature->dtype != CONFIG_INT64 &&
	    feature->dtype != CONFIG_BYTES)
		mistakes_add(reading->mistakes, line_of(group, "padding"),
			     "schema.padding: found %s, allowed with dtype \"%s\": \"none\"",
			     config_found(padding, found, sizeof(found)), dtype_name(feature));
	if (feature->values_max > 0)
		mistakes_add(reading->mistakes, line_of(group, "values_max"),
			     "schema.values_max: found %" PRIu64
			     ", allowed beside padding: 0, because `shape` says how many values a row has",
			     feature->values_max);
	else if (feature->rank != 1)
		mistakes_add(reading->mistakes, line_of(group, "shape"),
			     "schema.shape: found %u sizes, allowed beside padding: [ length ]",
			     feature->rank);
	if (feature->missing == MISSING_DEFAULT)
		mistakes_add(reading->mistakes, line_of(group, "missing"),
			     "schema.missing: found \"default\", allowed beside padding: no `missing`, "
			     "because a record without the feature has no values");
}

/* The keys that say how to decode a picture are given for pictures alone. */
static void refuse_picture_keys(struct config_reading *reading, const config_setting_t *group,
				const struct config_feature *feature)
{
	for (size_t i = config_picture_keys; i < config_feature_keys_count; i++)
		if (config_setting_get_member(group, config_feature_keys[i].name))
			mistakes_add(reading->mistakes, line_of(group, config_feature_keys[i].name),
				     "schema.%s: found it with dtype \"%s\", allowed: with dtype \"picture\"",
				     config_feature_keys[i].name, dtype_name(feature));
}

static void check_picture(struct config_reading *reading, const config_setting_t *group,
			  const struct config_feature *feature)
{
	const uint64_t *shape = feature->shape;

	if (feature->rank != 3 || shape[0] > CONFIG_PICTURE_SIDE_MAX || shape[1] > CONFIG_PICTURE_SIDE_MAX ||
	    (shape[2] != 1 && shape[2] != 3))
		mistakes_add(
			reading->mistakes, line_of(group, "shape"),
			"schema.shape: allowed with dtype \"picture\": [ height, width, channels ], 1 .. "
			"%u pixels high and wide, 1 or 3 channels",
			CONFIG_PICTURE_SIDE_MAX);
	if (feature->missing == MISSING_DEFAULT)
		mistakes_add(reading->mistakes, line_of(group, "missing"),
			     "schema.missing: found \"default\", allowed with dtype \"picture\": \"error\"");
	if (feature->random_crop && feature->fit != FIT_CROP)
		mistakes_add(reading->mistakes, line_of(group, "random_crop"),
			     "schema.random_crop: found true, allowed: with fit = \"crop\"");
}

static void read_feature(struct config_reading *reading, const config_setting_t *group)
{
	struct config_feature *feature = &reading->config->feature[reading->config->features++];
	const config_setting_t *shape = config_setting_get_member(group, "shape");

	read_element(reading, group, config_feature_keys, config_feature_keys_count, "shape", feature);
	if (shape)
		read_shape(reading, shape, feature);
	if (feature->name)
		config_check_feature_name(reading, group, feature->name);
	if (feature->dtype == CONFIG_INT64 || feature->dtype == CONFIG_UINT8)
		check_whole_fill(reading, group, feature);
	if (feature->dtype == CONFIG_PICTURE)
		check_picture(reading, group, feature);
	else
		refuse_picture_keys(reading, group, feature);
	if (feature->values_max > 0)
		check_ragged(reading, group, feature);
	if (feature->padding != PADDING_NONE)
		check_padded(reading, group, feature);
}

void config_read_schema(struct config_reading *reading, const config_setting_t *list)
{
	reading->list = "schema.";
	config_read_list(reading, list, "schema", CONFIG_FEATURES_MAX, "features", read_feature);
}

/* ---- sources ---- */

static void read_source(struct config_reading *reading, const config_setting_t *group)
{
	struct config *config = reading->config;
	struct config_source *source = &config->source[config->sources++];

	read_element(reading, group, config_source_keys, config_source_keys_count, "", source);
	if (!config_setting_get_member(group, "train_glob"))
		source->train_glob = config->split.train_glob;
	if (!config_setting_get_member(group, "validation_glob"))
		source->validation_glob = config->split.validation_glob;
	if (!config_setting_get_member(group, "test_glob"))
		source->test_glob = config->split.test_glob;
}

void config_read_sources(struct config_reading *reading, const config_setting_t *list)
{
	reading->list = "sources.";
	config_read_list(reading, list, "sources", CONFIG_SOURCES_MAX, "sources", read_source);
}
