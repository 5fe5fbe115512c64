/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/dataset.h"

#include "cli/prep/output.h"
#include "core/run/dataset.h"

#include <string.h>

static void add_size(cJSON *shape, uint64_t size)
{
	cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)size));
}

/* Adds the shape of a feature to dataset.json, or the largest count of values where the count varies. */
static void add_feature(const struct prep *prep, cJSON *schema, const struct example_feature *feature)
{
	static const char *const dtypes[] = { [EXAMPLE_FLOAT32] = "float32",
					      [EXAMPLE_INT64] = "int64",
					      [EXAMPLE_BYTES] = "bytes",
					      [EXAMPLE_UINT8] = "uint8",
					      [EXAMPLE_ENCODED] = "picture" };
	const struct idx_images *images = prep->from[TEXTS_TRAIN];
	cJSON *json = cJSON_CreateObject(), *shape;

	cJSON_AddStringToObject(json, "name", feature->name);
	cJSON_AddStringToObject(json, "dtype", dtypes[feature->dtype]);
	cJSON_AddItemToArray(schema, json);
	if (feature->values_max) {
		json_add_u64(json, "values_max", feature->values_max);
		return;
	}
	if (feature->dtype == EXAMPLE_ENCODED) /* a picture gets the shape that a configuration names */
		return;
	if (feature->bytes_max)
		json_add_u64(json, "bytes_max", feature->bytes_max);
	shape = cJSON_AddArrayToObject(json, "shape");
	if (feature->dtype == EXAMPLE_UINT8) {
		add_size(shape, prep->size);
		add_size(shape, prep->size);
		add_size(shape, PICTURES_CHANNELS);
	} else if (images && feature->dtype == EXAMPLE_FLOAT32) {
		add_size(shape, images->height);
		add_size(shape, images->width);
		add_size(shape, images->channels);
	} else if (feature->dtype != EXAMPLE_BYTES) {
		add_size(shape, feature->elements);
	}
}

bool dataset_names_split(const struct prep *prep, enum texts_split split)
{
	return split != TEXTS_VALIDATION || prep->rows[split];
}

cJSON *dataset_describe(const struct prep *prep, const struct example_schema *schema)
{
	cJSON *json = cJSON_CreateObject(), *list, *records;

	cJSON_AddNumberToObject(json, "version", 1);
	list = cJSON_AddArrayToObject(json, "schema");
	for (uint32_t i = 0; i < schema->features; i++)
		add_feature(prep, list, &schema->feature[i]);
	list = cJSON_AddArrayToObject(json, "classes");
	for (uint32_t i = 0; i < prep->classes; i++) {
		char name[TEXTS_LABEL_BYTES];

		prep->kind->class_name(prep, i, name);
		cJSON_AddItemToArray(list, cJSON_CreateString(name));
	}
	records = cJSON_AddObjectToObject(json, "records");
	for (int s = 0; s < TEXTS_SPLITS; s++)
		if (dataset_names_split(prep, (enum texts_split)s))
			json_add_u64(records, prep_split_names[s], prep->rows[s]);
	json_add_u64(json, "seed", prep->seed);
	cJSON_AddStringToObject(json, "id", prep->id);
	if (prep->group)
		json_add_u64(json, "group", prep->group);
	else if (prep->texts.films)
		cJSON_AddStringToObject(json, "group", "film");
	prep->kind->describe(prep, json);
	return json;
}

/* Writes the extra file of this kind of records, and removes the extra files of the other kinds, which an
 * earlier set may have left. */
static int put_files(const struct prep *prep, struct store *store, struct error *err)
{
	static const char *const keys[] = { PREP_ENCODER_KEY, PREP_VOCABULARY_KEY, PREP_TOKENIZER_KEY };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
		const bool own = prep->kind->file_key && strcmp(prep->kind->file_key, keys[i]) == 0;
		uint64_t bytes = 0;
		const void *data = own ? prep->kind->file(prep, &bytes) : NULL;

		r = data ? store_put_checked(store, keys[i], data, bytes, NULL, err)
			 : store_delete(store, keys[i], err);
	}
	return r;
}

/* Counts the records of a split in the new set, and in all sets. An earlier attempt may have counted them. */
static void count_added(const struct prep *prep, enum texts_split split, cJSON *records, const cJSON *sets,
			cJSON *set)
{
	const char *name = prep_split_names[split];
	const cJSON *before = json_member(cJSON_GetObjectItemCaseSensitive(sets, prep->id), name);
	const cJSON *all = json_member(records, name);
	const double others = (cJSON_IsNumber(all) ? all->valuedouble : 0) -
			      (cJSON_IsNumber(before) ? before->valuedouble : 0);

	cJSON_DeleteItemFromObjectCaseSensitive(records, name);
	cJSON_AddNumberToObject(records, name, others + prep->rows[split]);
	json_add_u64(set, name, prep->rows[split]);
}

/* Returns dataset.json of all sets: the first set's, with the new one in "sets" and in the numbers of
 * records. */
static cJSON *describe_added(const struct prep *prep)
{
	cJSON *json = cJSON_Duplicate(prep->there.dataset, true), *set = cJSON_CreateObject();
	cJSON *records = cJSON_GetObjectItemCaseSensitive(json, "records");
	cJSON *sets = cJSON_GetObjectItemCaseSensitive(json, "sets");

	sets = sets ? sets : cJSON_AddObjectToObject(json, "sets");
	for (int s = 0; s < TEXTS_SPLITS; s++)
		if (dataset_names_split(prep, (enum texts_split)s))
			count_added(prep, (enum texts_split)s, records, sets, set);
	cJSON_DeleteItemFromObjectCaseSensitive(sets, prep->id);
	cJSON_AddItemToObject(sets, prep->id, set);
	return json;
}

int dataset_put(const struct prep *prep, const struct example_schema *schema, struct store *store,
		struct error *err)
{
	const bool append = prep->mode == PREP_APPEND;
	CLEANUP(json_free) cJSON *json = append ? describe_added(prep) : dataset_describe(prep, schema);
	CLEANUP(free_ptr) char *text = NULL;
	int r = json_print(json, &text, err);

	if (r == 0 && !append)
		r = put_files(prep, store, err);
	return r < 0 ? r : store_put_checked(store, DATASET_NAME, text, strlen(text), NULL, err);
}
