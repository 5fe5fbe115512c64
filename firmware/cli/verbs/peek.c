/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln peek`: what the records of shards are, without a schema. */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/look/facts.h"
#include "cli/look/place.h"
#include "cli/verbs/verbs.h"
#include "core/base/utf8.h"
#include "core/base/visible.h"

#include <inttypes.h>
#include <string.h>

#define RECORDS       1000u
#define TEXT_BYTES    200u /* of a value that --records shows */
#define VALUES_SHOWN  16u
#define CLASSES_SHOWN 20u

struct peek {
	struct look_place place;
	struct facts facts;
	bool json;
};

static void done(struct peek *peek)
{
	look_place_done(&peek->place);
	facts_done(&peek->facts);
}

static const char *dtype_name(uint32_t dtype)
{
	return dtype == EXAMPLE_FLOAT32 ? "float32" : dtype == EXAMPLE_INT64 ? "int64" : "bytes";
}

/* ---- Records, with --records ---- */

static cJSON *json_of(const struct facts_value *value)
{
	const uint64_t shown = value->count < VALUES_SHOWN ? value->count : VALUES_SHOWN;
	char text[TEXT_BYTES + 1];
	cJSON *list;

	if (!value->numbers) {
		if (value->data && value->bytes <= TEXT_BYTES &&
		    utf8_valid_bytes((const char *)value->data, value->bytes) == value->bytes)
			(void)snprintf(text, sizeof(text), "%.*s", (int)value->bytes,
				       (const char *)value->data);
		else
			(void)snprintf(text, sizeof(text), "(%" PRIu64 " values, %" PRIu64 " bytes)",
				       value->count, value->bytes);
		return json_string(text);
	}
	list = cJSON_CreateArray();
	for (uint64_t i = 0; i < shown; i++)
		cJSON_AddItemToArray(
			list, cJSON_CreateNumber(value->dtype == EXAMPLE_FLOAT32
							 ? (double)((const float *)value->numbers)[i]
							 : (double)((const int64_t *)value->numbers)[i]));
	if (shown < value->count) {
		(void)snprintf(text, sizeof(text), "... %" PRIu64 " values", value->count);
		cJSON_AddItemToArray(list, json_string(text));
	}
	return list;
}

static int add_value(void *context, const struct facts_value *value, struct error *err)
{
	(void)err;
	cJSON_AddItemToObject(context, value->name, json_of(value));
	return 0;
}

static int show_record(void *context, const void *data, uint64_t bytes, struct error *err)
{
	struct peek *peek = context;
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	int r = facts_each(&peek->facts, data, bytes, add_value, json, err);

	return r < 0 ? r : cli_print_json_line(json) == CLI_OK ? 0 : error_set(err, -EIO, "cannot print it");
}

/* ---- Features ---- */

static int count_record(void *context, const void *data, uint64_t bytes, struct error *err)
{
	struct peek *peek = context;

	return facts_add(&peek->facts, data, bytes, err);
}

static void print_classes(const struct facts_feature *feature, uint64_t records)
{
	if (feature->dtype != EXAMPLE_INT64 || feature->most != 1 || !feature->class ||
	    feature->classes > CLASSES_SHOWN)
		return;
	for (uint32_t i = 0; i < feature->classes; i++)
		printf("%s%" PRId64 ": %.1f %%", i ? ", " : "; ", feature->class[i].value,
		       100.0 * (double)feature->class[i].records / (double)records);
}

static void print_feature(const struct facts_feature *feature, uint64_t records)
{
	fputs("  ", stdout);
	visible_print(feature->name, stdout);
	printf(": %s, ",
	       feature->dtype == EXAMPLE_BYTES && feature->picture ? "picture" : dtype_name(feature->dtype));
	if (feature->least == feature->most)
		printf("%" PRIu64 " value%s", feature->most, feature->most == 1 ? "" : "s");
	else
		printf("%" PRIu64 " .. %" PRIu64 " values", feature->least, feature->most);
	if (feature->numbers)
		printf(", %.7g .. %.7g", feature->min, feature->max);
	if (feature->bytes_most)
		printf(", at most %" PRIu64 " bytes", feature->bytes_most);
	if (feature->records < records)
		printf(", missing in %" PRIu64 " records", records - feature->records);
	print_classes(feature, records);
	putchar('\n');
}

static void add_classes(const struct facts_feature *feature, cJSON *json)
{
	cJSON *classes;

	if (feature->dtype != EXAMPLE_INT64 || feature->most != 1 || !feature->class)
		return;
	classes = cJSON_AddArrayToObject(json, "classes");
	for (uint32_t i = 0; i < feature->classes; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddNumberToObject(item, "value", (double)feature->class[i].value);
		json_add_u64(item, "records", feature->class[i].records);
		cJSON_AddItemToArray(classes, item);
	}
}

static int print_json(const struct peek *peek)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	cJSON *list;

	json_add_u64(json, "shards", peek->place.keys);
	json_add_u64(json, "records", peek->facts.records);
	list = cJSON_AddArrayToObject(json, "features");
	for (uint32_t i = 0; i < peek->facts.features; i++) {
		const struct facts_feature *feature = &peek->facts.feature[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddItemToObject(item, "name", json_string(feature->name));
		cJSON_AddStringToObject(item, "dtype", dtype_name(feature->dtype));
		cJSON_AddBoolToObject(item, "picture", feature->dtype == EXAMPLE_BYTES && feature->picture);
		json_add_u64(item, "missing", peek->facts.records - feature->records);
		json_add_u64(item, "values_least", feature->least);
		json_add_u64(item, "values_most", feature->most);
		if (feature->numbers) {
			cJSON_AddNumberToObject(item, "min", feature->min);
			cJSON_AddNumberToObject(item, "max", feature->max);
		}
		add_classes(feature, item);
		cJSON_AddItemToArray(list, item);
	}
	return cli_print_json(json);
}

static int print_table(const struct peek *peek)
{
	printf("%u shards; the first %" PRIu64 " records:\n", peek->place.keys, peek->facts.records);
	for (uint32_t i = 0; i < peek->facts.features; i++)
		print_feature(&peek->facts.feature[i], peek->facts.records);
	return CLI_OK;
}

/* ---- The verb ---- */

static const struct verb_operand operands[] = {
	{ .name = "WHERE", .value = VERB_LOCATION },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "all", .help = "read all records, not only the first 1000" },
	{ .name = "records",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = UINT32_MAX,
	  .help = "print the first N records, one JSON object per line, with at most 16 values of a "
		  "feature" },
	{ .name = "glob",
	  .value = VERB_TEXT,
	  .argument = "PATTERN",
	  .help = "which objects are shards, default *tfrecord*" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static int peek_at(struct peek *peek, const struct arguments *arguments, struct error *err)
{
	const char *glob = arguments_text(arguments, "glob");
	const uint64_t show = arguments_number(arguments, "records", 0);
	struct config_store where;
	int r;

	where_read(&where, arguments);
	r = look_place_open(&where, arguments_operand(arguments, 0), glob ? glob : LOOK_GLOB, &peek->place,
			    err);
	if (r < 0)
		return r;
	if (peek->place.keys == 0)
		return error_set(err, -ENOENT, "%s: found no object whose name matches %s",
				 arguments_operand(arguments, 0), glob ? glob : LOOK_GLOB);
	if (show)
		return look_records(&peek->place, show, show_record, peek, err);
	return look_records(&peek->place, arguments_have(arguments, "all") ? UINT64_MAX : RECORDS,
			    count_record, peek, err);
}

static int peek_verb(const struct arguments *arguments)
{
	CLEANUP(done) struct peek peek = { .json = arguments_have(arguments, "json") };
	struct error err = { 0 };

	if (peek_at(&peek, arguments, &err) < 0)
		return cli_error(&err);
	if (arguments_have(arguments, "records"))
		return CLI_OK;
	return peek.json ? print_json(&peek) : print_table(&peek);
}

const struct verb verb_peek = {
	.name = "peek",
	.summary = "print what the records of shards are",
	.about =
		"Reads the first 1000 records below WHERE, a folder or one shard, as a path or a URL, and "
		"prints "
		"their features: type, number of values, range, and of an integer how many records have each "
		"value. It needs no schema.",
	.operands = operands,
	.options = { options, where_options },
	.here = true,
	.run = peek_verb,
};
