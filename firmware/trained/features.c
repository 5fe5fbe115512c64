/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/features.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* State while the numbers of one feature are written into a row. */
struct values {
	const struct example_feature *feature;
	void *row;
	uint64_t count, capacity;
};

static int refuse(const struct values *values, const cJSON *item, const char *expected, struct error *err)
{
	CLEANUP(free_ptr) char *found = cJSON_PrintUnformatted(item);

	return error_set(err, -EBADMSG, "\"%s\": found %.60s as value %" PRIu64 ", expected %s",
			 values->feature->name, found ? found : "something", values->count, expected);
}

static int add_float(struct values *values, const cJSON *item, struct error *err)
{
	if (!cJSON_IsNumber(item) || !isfinite((float)item->valuedouble))
		return refuse(values, item, "a number in the range of float32", err);
	if (values->count < values->capacity)
		((float *)values->row)[values->count] = (float)item->valuedouble;
	return 0;
}

static int add_integer(struct values *values, const cJSON *item, struct error *err)
{
	const char *text = cJSON_IsString(item) ? item->valuestring : NULL;
	int64_t number = 0;
	char *end = NULL;

	if (text) {
		errno = 0;
		number = strtoll(text, &end, 10);
	}
	if (text ? errno || end == text || *end
		 : !cJSON_IsNumber(item) || fabs(item->valuedouble) > WHOLE_MAX ||
			    item->valuedouble != floor(item->valuedouble))
		return refuse(values, item, "an integer", err);
	if (values->count < values->capacity)
		((int64_t *)values->row)[values->count] = text ? number : (int64_t)item->valuedouble;
	return 0;
}

static int add_byte(struct values *values, const cJSON *item, struct error *err)
{
	if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > UINT8_MAX ||
	    item->valuedouble != floor(item->valuedouble))
		return refuse(values, item, "an integer, 0 .. 255", err);
	if (values->count < values->capacity)
		((uint8_t *)values->row)[values->count] = (uint8_t)item->valuedouble;
	return 0;
}

static int add_text(struct values *values, const cJSON *item, struct error *err)
{
	const char *text = cJSON_GetStringValue(item);

	if (!text)
		return refuse(values, item, "a string", err);
	if (values->count < values->capacity &&
	    !example_put_bytes(values->feature, values->row, values->count, text, strlen(text)))
		return error_set(err, -EBADMSG,
				 "\"%s\": found a string of %zu bytes as value %" PRIu64
				 ", expected at most %" PRIu64 " (bytes_max)",
				 values->feature->name, strlen(text), values->count,
				 values->feature->bytes_max);
	return 0;
}

static int add_value(struct values *values, const cJSON *item, struct error *err)
{
	switch (values->feature->dtype) {
	case EXAMPLE_INT64:
		return add_integer(values, item, err);
	case EXAMPLE_BYTES:
		return add_text(values, item, err);
	case EXAMPLE_UINT8:
	case EXAMPLE_ENCODED:
		return add_byte(values, item, err);
	default:
		return add_float(values, item, err);
	}
}

/* The recursion ends, because json_parse() limits the nesting depth. */
static int add_values(struct values *values, const cJSON *item,
		      struct error *err) // NOLINT(misc-no-recursion)
{
	const cJSON *each;
	int r = 0;

	if (!cJSON_IsArray(item)) {
		r = add_value(values, item, err);
		values->count++;
		return r;
	}
	cJSON_ArrayForEach(each, item)
		if ((r = add_values(values, each, err)) < 0)
			return r;
	return 0;
}

/* Returns what an error calls the values of a feature. */
static const char *noun(const struct example_feature *feature)
{
	return feature->dtype == EXAMPLE_BYTES ? "values" : "numbers";
}

static int fill(const struct values *values, struct error *err)
{
	const struct example_feature *feature = values->feature;

	if (!feature->optional)
		return error_set(err, -EBADMSG, "\"%s\": found nothing, expected %" PRIu64 " %s",
				 feature->name, feature->elements, noun(feature));
	if (feature->dtype == EXAMPLE_UINT8 || feature->dtype == EXAMPLE_ENCODED)
		memset(values->row, (int)feature->fill, feature->elements);
	else
		example_pad(feature, values->row, 0);
	return 0;
}

static int add_feature(const struct columns *columns, uint32_t i, const cJSON *object, uint32_t row,
		       struct error *err)
{
	const struct example_feature *feature = &columns->schema.feature[i];
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, feature->name);
	struct values values = { .feature = feature,
				 .row = columns->batch.values[i] + row * columns->batch.row_bytes[i],
				 .capacity = feature->values_max ? feature->values_max : feature->elements };
	const bool varies = feature->values_max || feature->padding;
	int r;

	if (!item && !varies)
		return fill(&values, err);
	r = item ? add_values(&values, item, err) : 0;
	if (r < 0)
		return r;
	if (varies ? values.count > values.capacity && !feature->truncate : values.count != values.capacity)
		return error_set(err, -EBADMSG, "\"%s\": found %" PRIu64 " %s, expected %s%" PRIu64,
				 feature->name, values.count, noun(feature), varies ? "at most " : "",
				 values.capacity);
	if (values.count > values.capacity)
		values.count = values.capacity;
	if (feature->values_max)
		columns->batch.splits[i][row + 1] = (int64_t)values.count;
	else if (feature->padding)
		example_pad(feature, values.row, values.count);
	return 0;
}

static int refuse_name(const struct config *config, const char *name, struct error *err)
{
	char names[512] = "";

	for (uint32_t i = 0; i < config->features - config->made; i++) {
		const size_t used = strlen(names);

		(void)snprintf(names + used, sizeof(names) - used, "%s\"%s\"", i ? ", " : "",
			       config->feature[i].name);
	}
	return error_set(err, -EBADMSG, "found \"%.60s\", allowed: %s", name, names);
}

/* Refuses a member whose name is not in the schema, because it is probably a typing error. */
static int check_names(const struct config *config, const cJSON *object, struct error *err)
{
	const cJSON *member;

	cJSON_ArrayForEach(member, object) {
		const struct config_feature *feature = config_feature_named(config, member->string);

		if (!feature || feature->made_by)
			return refuse_name(config, member->string, err);
	}
	return 0;
}

int features_add(const struct columns *columns, const struct config *config, const cJSON *object,
		 uint32_t row, struct error *err)
{
	int r = check_names(config, object, err);

	for (uint32_t i = 0; r == 0 && i < columns->schema.features - columns->schema.made; i++)
		if (columns_reads(columns, i))
			r = add_feature(columns, i, object, row, err);
		else if (columns->batch.splits[i])
			columns->batch.splits[i][row + 1] = 0;
	return r < 0 ? r : batch_make(&columns->batch, columns->decoder, row, err);
}
