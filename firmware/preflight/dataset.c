/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/dataset.h"

#include "drivers/store/dataset.h"

#include <inttypes.h>
#include <string.h>

#define PART        "schema"
#define SHAPE_BYTES 128u

static const char todo[] = "copy the schema of " DATASET_NAME " into the configuration";

/* Prints "float32 [ 28, 28, 1 ]", or "int64, values_max 500". */
static void shape_text(const char *dtype, const uint64_t *shape, uint32_t rank, uint64_t values_max,
		       char out[static SHAPE_BYTES])
{
	size_t used;

	if (values_max) {
		(void)snprintf(out, SHAPE_BYTES, "%s, values_max %" PRIu64, dtype, values_max);
		return;
	}
	used = (size_t)snprintf(out, SHAPE_BYTES, "%s [", dtype);
	for (uint32_t i = 0; i < rank && used < SHAPE_BYTES; i++)
		used += (size_t)snprintf(out + used, SHAPE_BYTES - used, "%s %" PRIu64, i ? "," : "",
					 shape[i]);
	if (used < SHAPE_BYTES)
		(void)snprintf(out + used, SHAPE_BYTES - used, " ]");
}

/* A feature of dataset.json. */
struct described {
	const char *dtype;
	uint64_t shape[CONFIG_SHAPE_MAX], values_max, elements;
	uint32_t rank;
};

static bool describe(const cJSON *feature, struct described *ret)
{
	const cJSON *size;

	*ret = (struct described){ .dtype = cJSON_GetStringValue(json_member(feature, "dtype")),
				   .elements = 1 };
	if (!ret->dtype || (json_member(feature, "values_max") &&
			    json_get_u64(DATASET_NAME, feature, "values_max", &ret->values_max, NULL) < 0))
		return false;
	cJSON_ArrayForEach(size, json_member(feature, "shape")) {
		if (ret->rank == CONFIG_SHAPE_MAX || !cJSON_IsNumber(size) || size->valuedouble < 0 ||
		    size->valuedouble > INT32_MAX)
			return false;
		ret->shape[ret->rank++] = (uint64_t)size->valuedouble;
		if (__builtin_mul_overflow(ret->elements, (uint64_t)size->valuedouble, &ret->elements))
			return false;
	}
	return true;
}

/* Tells whether records of the described feature can be read as the configured one: the type and the number
 * of values agree. The sizes of the dimensions are the configuration's. */
static bool fits(const struct config_feature *feature, const char *dtype, const struct described *described)
{
	uint64_t elements = 1;

	if (strcmp(dtype, described->dtype) != 0)
		return false;
	if (feature->dtype == CONFIG_PICTURE) /* the decoder gives a picture of any size the configured one */
		return true;
	for (uint32_t i = 0; i < feature->rank; i++)
		elements *= feature->shape[i];
	if (feature->values_max || feature->padding != PADDING_NONE)
		return feature->overflow == OVERFLOW_TRUNCATE ||
		       (feature->values_max ? feature->values_max : elements) >=
			       (described->values_max ? described->values_max : described->elements);
	return !described->values_max && elements == described->elements;
}

static const cJSON *feature_named(const cJSON *schema, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, schema) {
		const char *found = cJSON_GetStringValue(json_member(item, "name"));

		if (found && strcmp(found, name) == 0)
			return item;
	}
	return NULL;
}

static void compare(struct preflight *preflight, bool certain, const struct config_feature *feature,
		    const cJSON *schema, const char *url)
{
	static const char *const dtypes[] = { [CONFIG_FLOAT32] = "float32",
					      [CONFIG_INT64] = "int64",
					      [CONFIG_BYTES] = "bytes",
					      [CONFIG_UINT8] = "uint8",
					      [CONFIG_PICTURE] = "picture" };
	const cJSON *item = feature_named(schema, feature->name);
	char mine[SHAPE_BYTES], theirs[SHAPE_BYTES];
	struct described described;

	if (!item && feature->missing == MISSING_ERROR && feature->values_max == 0)
		preflight_add_misfit(preflight, certain, PART, todo,
				     "schema: found the feature \"%s\", which %s/" DATASET_NAME
				     " does not have",
				     feature->name, url);
	if (!item || !describe(item, &described) || fits(feature, dtypes[feature->dtype], &described))
		return;
	shape_text(dtypes[feature->dtype], feature->shape, feature->rank, feature->values_max, mine);
	shape_text(described.dtype, described.shape, described.rank, described.values_max, theirs);
	preflight_add_misfit(preflight, certain, PART, todo,
			     "schema: \"%s\": found %s, %s/" DATASET_NAME " has %s", feature->name, mine, url,
			     theirs);
}

void preflight_dataset(struct preflight *preflight, struct store *store, bool certain)
{
	CLEANUP(json_free) cJSON *dataset = NULL;
	struct error err = { 0 };
	const cJSON *schema;
	int r = store_get_dataset(store, &dataset, &err);

	if (r == -ENOENT)
		return;
	if (r < 0) {
		preflight_add_error(preflight, PART, &err);
		return;
	}
	schema = json_member(dataset, "schema");
	for (uint32_t i = 0; cJSON_IsArray(schema) && i < preflight->config->features; i++)
		compare(preflight, certain, &preflight->config->feature[i], schema, store_url(store));
}
