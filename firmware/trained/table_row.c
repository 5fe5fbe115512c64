/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/table_row.h"

#include "core/run/dataset.h"
#include "drivers/digest/digest.h"

#include <string.h>

#define HASH_DIGITS 16 /* as prep --hash writes them */

/* A column of dataset.json. */
struct column {
	const char *name, *type, *feature;
	const cJSON *values; /* of a category; NULL: the label's classes */
	double fill;
	bool hashed;
};

static bool read_column(const cJSON *json, struct column *column)
{
	*column = (struct column){ .name = cJSON_GetStringValue(json_member(json, "name")),
				   .type = cJSON_GetStringValue(json_member(json, "type")),
				   .feature = cJSON_GetStringValue(json_member(json, "feature")),
				   .values = json_member(json, "values"),
				   .fill = json_number(json, "fill", 0),
				   .hashed = cJSON_IsTrue(json_member(json, "hashed")) };
	return column->name && column->type;
}

static bool is_missing(const cJSON *item)
{
	return !item || cJSON_IsNull(item) || (cJSON_IsString(item) && !*item->valuestring);
}

/* Returns the place of a text in a list, from `first` on; `otherwise` where it is not there. */
static double place_of(const cJSON *list, const char *text, double first, double otherwise)
{
	const cJSON *item;
	double place = first;

	cJSON_ArrayForEach(item, list) {
		if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
			return place;
		place++;
	}
	return otherwise;
}

static double id_of(const struct column *column, const char *text)
{
	char hex[DIGEST_HEX_BYTES];

	digest_sha256(text, strlen(text), hex);
	hex[HASH_DIGITS] = '\0';
	return place_of(column->values, column->hashed ? hex : text, 1, 0);
}

static int number_of(const struct column *column, const cJSON *item, double *ret_number, struct error *err)
{
	char *end;

	*ret_number = column->fill;
	if (is_missing(item))
		return 0;
	*ret_number = item->valuedouble;
	if (!cJSON_IsString(item))
		return 0;
	*ret_number = strtod(item->valuestring, &end);
	return *end ? error_set(err, -EBADMSG, "\"%s\": found \"%.60s\", expected a number", column->name,
				item->valuestring)
		    : 0;
}

static int put(cJSON *object, const char *name, double number, struct error *err)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	return cJSON_AddNumberToObject(object, name, number) ? 0
							     : error_set(err, -ENOMEM, "no memory for a row");
}

/* Translates a column that is a feature of its own. A list is the feature already. */
static int translate_own(const cJSON *dataset, const struct column *column, bool is_label, cJSON *object,
			 struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, column->name);
	const bool category = strcmp(column->type, "category") == 0;
	double number = 0;
	int r = 0;

	if (cJSON_IsArray(item) || (is_label && !cJSON_IsString(item)) ||
	    (strcmp(column->type, "int") == 0 && !is_missing(item)))
		return 0;
	if (is_label && category)
		number = place_of(dataset_classes(dataset), item->valuestring, 0, -1);
	else if (!category)
		r = number_of(column, item, &number, err);
	else if (cJSON_IsNumber(item))
		return 0;
	else
		number = cJSON_IsString(item) ? id_of(column, item->valuestring) : 0;
	return r < 0 ? r : put(object, column->name, number, err);
}

/* Adds a number to the list of its feature, and removes the column. */
static int translate_together(const struct column *column, cJSON *object, cJSON *numbers, struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, column->name);
	double number;
	int r = number_of(column, item, &number, err);

	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(object, column->name);
	return cJSON_AddItemToArray(numbers, cJSON_CreateNumber(number))
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for a row");
}

static int translate(const cJSON *dataset, const struct config *config, const struct column *column,
		     cJSON *object, cJSON **numbers, struct error *err)
{
	const char *label = cJSON_GetStringValue(json_member(dataset, "label"));

	if (!column->feature || !config_feature_named(config, column->feature) ||
	    (strcmp(column->type, "bytes") == 0 &&
	     is_missing(cJSON_GetObjectItemCaseSensitive(object, column->name)))) {
		cJSON_DeleteItemFromObjectCaseSensitive(object, column->name);
		return 0;
	}
	if (strcmp(column->type, "bytes") == 0) /* a row of `preprocess` reads the text */
		return 0;
	if (strcmp(column->feature, column->name) == 0)
		return translate_own(dataset, column, label && strcmp(label, column->name) == 0, object, err);
	/* The first of these columns sees whether the object has the list. */
	if (!*numbers && cJSON_HasObjectItem(object, column->feature))
		return 0;
	if (!*numbers)
		*numbers = cJSON_AddArrayToObject(object, column->feature);
	return *numbers ? translate_together(column, object, *numbers, err)
			: error_set(err, -ENOMEM, "no memory for a row");
}

int table_row_translate(const cJSON *dataset, const struct config *config, cJSON *object, struct error *err)
{
	const cJSON *json;
	cJSON *numbers = NULL; /* belongs to the object */
	int r = 0;

	cJSON_ArrayForEach(json, json_member(dataset, "columns")) {
		struct column column;

		if (read_column(json, &column) &&
		    (r = translate(dataset, config, &column, object, &numbers, err)) < 0)
			return r;
	}
	return 0;
}
