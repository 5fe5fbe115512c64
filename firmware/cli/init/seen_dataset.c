/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/init/seen.h"

#include "core/run/dataset.h"

#include <string.h>

static const char *dtype_of(const char *name)
{
	static const char *const names[] = { "float32", "int64", "bytes", "uint8", "picture" };

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return names[i];
	return NULL;
}

/* Returns how many ids a category of a table has: 0, and those of its values. */
static uint64_t ids_of(const cJSON *dataset, const char *feature)
{
	const cJSON *column;

	cJSON_ArrayForEach(column, json_member(dataset, "columns")) {
		const char *name = cJSON_GetStringValue(json_member(column, "feature"));
		const cJSON *values = json_member(column, "values");

		if (name && strcmp(name, feature) == 0 && values)
			return (uint64_t)cJSON_GetArraySize(values) + 1;
	}
	return 0;
}

static void choose_use(const cJSON *dataset, struct seen_feature *feature)
{
	if (strcmp(feature->dtype, "picture") == 0) {
		feature->use = SEEN_PICTURE;
	} else if (feature->rank == 3) {
		feature->use = SEEN_IMAGE;
	} else if (feature->values_max) {
		feature->use = SEEN_TOKENS;
		feature->ids = (uint64_t)json_number(dataset, "vocabulary.size",
						     json_number(dataset, "tokenizer.size", 0));
	} else if (strcmp(feature->dtype, "float32") == 0) {
		feature->use = json_member(dataset, "encoder") ? SEEN_VECTOR : SEEN_NUMBERS;
	} else {
		feature->ids = strcmp(feature->dtype, "int64") == 0 ? ids_of(dataset, feature->name) : 0;
		feature->use = feature->ids ? SEEN_CATEGORY : SEEN_NOTHING;
		feature->why = strcmp(feature->dtype, "bytes") == 0 ? "no layer reads bytes"
								    : "a whole number that is no id";
	}
	if (feature->use == SEEN_TOKENS && feature->ids == 0) {
		feature->use = SEEN_NOTHING;
		feature->why = "its largest number is not known";
	}
}

static int read_feature(const cJSON *dataset, const cJSON *item, struct seen_feature *feature,
			struct error *err)
{
	const char *name = cJSON_GetStringValue(json_member(item, "name"));
	const cJSON *size;

	feature->dtype = dtype_of(cJSON_GetStringValue(json_member(item, "dtype")));
	if (!name || strlen(name) >= sizeof(feature->name) || !feature->dtype)
		return error_set(err, -EBADMSG,
				 DATASET_NAME ": schema: found a feature without name or dtype");
	(void)snprintf(feature->name, sizeof(feature->name), "%s", name);
	feature->values_max = (uint64_t)json_number(item, "values_max", 0);
	cJSON_ArrayForEach(size, json_member(item, "shape"))
		if (feature->rank < CONFIG_SHAPE_MAX && cJSON_IsNumber(size))
			feature->shape[feature->rank++] = (uint64_t)size->valuedouble;
	choose_use(dataset, feature);
	return 0;
}

int seen_in_dataset(const cJSON *dataset, const char *label, struct seen *ret_seen, struct error *err)
{
	const char *said = cJSON_GetStringValue(json_member(dataset, "label"));
	const cJSON *item;
	int r = 0;

	*ret_seen = (struct seen){ 0 };
	cJSON_ArrayForEach(item, json_member(dataset, "schema")) {
		if (ret_seen->features == EXAMPLE_FEATURES_MAX)
			return error_set(err, -EBADMSG, DATASET_NAME ": schema: found more than %u features",
					 EXAMPLE_FEATURES_MAX);
		if ((r = read_feature(dataset, item, &ret_seen->feature[ret_seen->features], err)) < 0)
			return r;
		ret_seen->features++;
	}
	ret_seen->classes = (uint64_t)cJSON_GetArraySize(dataset_classes(dataset));
	ret_seen->validation = json_number(dataset, "records.validation", 0) > 0;
	r = seen_find_label(ret_seen, label ? label : said, err);
	if (r == 0 && ret_seen->classes == 0 && label && !said)
		ret_seen->classes = ret_seen->feature[ret_seen->label].ids;
	return r < 0 ? error_prefix(err, DATASET_NAME) : 0;
}
