/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/look/facts.h"

#include <inttypes.h>
#include <string.h>

#define NAME_BYTES 1024u

/* ---- The features of one record ---- */

/* A name of the record, its type and its number of values. */
struct entry {
	char name[NAME_BYTES];
	uint32_t dtype;
	uint64_t count;
};

struct list {
	struct entry *entry;
	uint32_t entries, capacity;
};

static void list_done(struct list *list)
{
	free(list->entry);
}

static int add_entry(void *context, const char *name, uint64_t name_bytes, uint32_t dtype, uint64_t count)
{
	struct list *list = context;

	if (dtype == 0 || name_bytes >= NAME_BYTES)
		return 0;
	if (list->entries == FACTS_FEATURES_MAX)
		return -E2BIG;
	if (list->entries == list->capacity) {
		const uint32_t capacity = list->capacity ? list->capacity * 2 : 16;
		struct entry *entry = realloc(list->entry, capacity * sizeof(*entry));

		if (!entry)
			return -ENOMEM;
		list->entry = entry;
		list->capacity = capacity;
	}
	list->entry[list->entries] = (struct entry){ .dtype = dtype, .count = count };
	memcpy(list->entry[list->entries++].name, name, name_bytes);
	return 0;
}

/* Makes the memory large enough for the values of a feature. */
static int reserve(struct facts *facts, uint64_t values, struct error *err)
{
	const uint64_t bytes = (values + 1) * sizeof(int64_t);
	char *memory;

	if (bytes <= facts->memory_bytes)
		return 0;
	memory = realloc(facts->memory, bytes);
	if (!memory)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " values", values);
	facts->memory = memory;
	facts->memory_bytes = bytes;
	return 0;
}

/* Parses one feature by a schema that fits it. */
static int read_value(struct facts *facts, const struct entry *entry, const void *data, uint64_t bytes,
		      struct facts_value *value, struct error *err)
{
	struct example_schema schema;
	struct example_encoded encoded = { 0 };
	int64_t count = 0;
	struct example_ragged ragged = { .count = &count };
	const bool is_bytes = entry->dtype == EXAMPLE_BYTES;
	void *row;
	int r = is_bytes ? 0 : reserve(facts, entry->count, err);

	*value = (struct facts_value){ .name = entry->name, .dtype = entry->dtype, .count = entry->count };
	if (r < 0 || (is_bytes && entry->count != 1))
		return r;
	example_schema_one(&schema,
			   (struct example_feature){ .name = entry->name,
						     .dtype = is_bytes ? EXAMPLE_ENCODED : entry->dtype,
						     .elements = 1,
						     .values_max = is_bytes ? 0 : entry->count + 1 });
	ragged.values = facts->memory;
	row = is_bytes ? (void *)&encoded : &ragged;
	if ((r = example_parse(&schema, data, bytes, &row, err)) < 0)
		return r;
	value->numbers = is_bytes ? NULL : facts->memory;
	value->data = encoded.data;
	value->bytes = encoded.bytes;
	return 0;
}

int facts_each(struct facts *facts, const void *data, uint64_t bytes,
	       int (*each)(void *context, const struct facts_value *value, struct error *err), void *context,
	       struct error *err)
{
	CLEANUP(list_done) struct list list = { 0 };
	int r = example_describe(data, bytes, add_entry, &list, err);

	if (r == -E2BIG)
		return error_set(err, -EBADMSG, "found more than %u features", FACTS_FEATURES_MAX);
	for (uint32_t i = 0; r == 0 && i < list.entries; i++) {
		struct facts_value value;

		r = read_value(facts, &list.entry[i], data, bytes, &value, err);
		if (r == 0)
			r = each(context, &value, err);
	}
	return r;
}

/* ---- Counting ---- */

static struct facts_feature *feature_of(struct facts *facts, const struct facts_value *value)
{
	struct facts_feature *feature = (struct facts_feature *)(uintptr_t)facts_named(facts, value->name);

	if (feature)
		return feature;
	feature = realloc(facts->feature, ((size_t)facts->features + 1) * sizeof(*feature));
	if (!feature)
		return NULL;
	facts->feature = feature;
	feature += facts->features;
	*feature = (struct facts_feature){ .name = strdup(value->name),
					   .dtype = value->dtype,
					   .least = value->count,
					   .picture = true,
					   .class = calloc(FACTS_CLASSES_MAX, sizeof(*feature->class)) };
	if (!feature->name || !feature->class) {
		free(feature->name);
		free(feature->class);
		return NULL;
	}
	facts->features++;
	return feature;
}

/* Counts an integer; the classes stay in their order. */
static void count_class(struct facts_feature *feature, int64_t value)
{
	uint32_t at = 0;

	while (at < feature->classes && feature->class[at].value < value)
		at++;
	if (at < feature->classes && feature->class[at].value == value) {
		feature->class[at].records++;
		return;
	}
	if (feature->classes == FACTS_CLASSES_MAX) {
		free(feature->class);
		feature->class = NULL;
		return;
	}
	memmove(feature->class + at + 1, feature->class + at,
		(feature->classes - at) * sizeof(*feature->class));
	feature->class[at] = (struct facts_class){ value, 1 };
	feature->classes++;
}

static void count_numbers(struct facts_feature *feature, const struct facts_value *value)
{
	const float *floats = value->numbers;
	const int64_t *integers = value->numbers;

	for (uint64_t i = 0; i < value->count; i++) {
		const double number =
			value->dtype == EXAMPLE_FLOAT32 ? (double)floats[i] : (double)integers[i];

		feature->min = !feature->numbers || number < feature->min ? number : feature->min;
		feature->max = !feature->numbers || number > feature->max ? number : feature->max;
		feature->numbers = true;
	}
	if (value->dtype == EXAMPLE_INT64 && value->count == 1 && feature->class)
		count_class(feature, integers[0]);
}

static bool is_picture(const struct facts_value *value)
{
	static const uint8_t jpeg[] = { 0xff, 0xd8, 0xff }, png[] = { 0x89, 'P', 'N', 'G' };

	return value->data && value->bytes > sizeof(png) &&
	       (memcmp(value->data, jpeg, sizeof(jpeg)) == 0 || memcmp(value->data, png, sizeof(png)) == 0);
}

static int count_value(void *context, const struct facts_value *value, struct error *err)
{
	struct facts_feature *feature = feature_of(context, value);

	if (!feature)
		return error_set(err, -ENOMEM, "no memory for the feature \"%s\"", value->name);
	if (feature->dtype != value->dtype)
		return error_set(err, -EBADMSG, "feature \"%s\": found another type than in earlier records",
				 value->name);
	feature->records++;
	feature->least = value->count < feature->least ? value->count : feature->least;
	feature->most = value->count > feature->most ? value->count : feature->most;
	if (value->numbers) {
		count_numbers(feature, value);
	} else {
		feature->picture = feature->picture && is_picture(value);
		feature->bytes_most = value->bytes > feature->bytes_most ? value->bytes : feature->bytes_most;
	}
	return 0;
}

int facts_add(struct facts *facts, const void *data, uint64_t bytes, struct error *err)
{
	facts->records++;
	return facts_each(facts, data, bytes, count_value, facts, err);
}

const struct facts_feature *facts_named(const struct facts *facts, const char *name)
{
	for (uint32_t i = 0; i < facts->features; i++)
		if (strcmp(facts->feature[i].name, name) == 0)
			return &facts->feature[i];
	return NULL;
}

void facts_done(struct facts *facts)
{
	for (uint32_t i = 0; i < facts->features; i++) {
		free(facts->feature[i].name);
		free(facts->feature[i].class);
	}
	free(facts->feature);
	free(facts->memory);
}
