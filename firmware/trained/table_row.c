/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/table_row.h"

#include "core/base/number.h"
#include "core/run/dataset.h"
#include "drivers/digest/digest.h"

#include <stdlib.h>
#include <string.h>

#define HASH_DIGITS  16 /* as prep --hash writes them */
#define NUMBER_BYTES 64u

/* A value of a category, and what it becomes. */
struct value {
	const char *text;
	double id;
};

/* A column of dataset.json. */
struct column {
	const char *name, *type, *feature; /* feature: NULL = none that the configuration reads */
	double fill;
	bool hashed, is_label;
	bool must;           /* --missing stop: there is no value for a missing one */
	struct value *value; /* the texts of a category, in bytewise order */
	size_t values;
};

struct table_row {
	const cJSON *null; /* texts that mean a missing value; may be NULL */
	struct column *column;
	uint32_t columns;
};

/* ---- The columns ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct value *)a)->text, ((const struct value *)b)->text);
}

/* The classes of a label count from 0, the ids of other texts from 1. */
static int read_values(const cJSON *list, struct column *column, struct error *err)
{
	double id = column->is_label ? 0 : 1;
	const cJSON *item;

	column->value = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*column->value));
	if (!column->value)
		return error_set(err, -ENOMEM, "no memory for the values of a column");
	cJSON_ArrayForEach(item, list) {
		if (cJSON_IsString(item))
			column->value[column->values++] = (struct value){ item->valuestring, id };
		id++;
	}
	qsort(column->value, column->values, sizeof(*column->value), by_text);
	return 0;
}

static int read_column(const cJSON *dataset, const struct config *config, bool labels, const cJSON *json,
		       struct column *column, struct error *err)
{
	const char *label = cJSON_GetStringValue(json_member(dataset, "label"));

	*column = (struct column){ .name = cJSON_GetStringValue(json_member(json, "name")),
				   .type = cJSON_GetStringValue(json_member(json, "type")),
				   .feature = cJSON_GetStringValue(json_member(json, "feature")),
				   .fill = json_number(json, "fill", 0),
				   .hashed = cJSON_IsTrue(json_member(json, "hashed")),
				   .must = cJSON_IsTrue(json_member(json, "stop")) };
	if (!column->name || !column->type)
		return 0;
	column->is_label = label && strcmp(label, column->name) == 0;
	if (column->feature &&
	    (!config_feature_named(config, column->feature) || (column->is_label && !labels)))
		column->feature = NULL;
	if (strcmp(column->type, "category") != 0)
		return 1;
	return read_values(column->is_label ? dataset_classes(dataset) : json_member(json, "values"), column,
			   err) < 0
		       ? err->code
		       : 1;
}

int table_row_open(const cJSON *dataset, const struct config *config, bool labels, struct table_row **ret_row,
		   struct error *err)
{
	CLEANUP(table_row_freep) struct table_row *row = NULL;
	const cJSON *columns = json_member(dataset, "columns"), *json;

	if (!cJSON_IsArray(columns))
		return 0;
	row = calloc(1, sizeof(*row));
	if (row)
		row->column = calloc((size_t)cJSON_GetArraySize(columns) + 1, sizeof(*row->column));
	if (!row || !row->column)
		return error_set(err, -ENOMEM, "no memory for the columns of a table");
	row->null = json_member(dataset, "null");
	cJSON_ArrayForEach(json, columns) {
		int r = read_column(dataset, config, labels, json, &row->column[row->columns], err);

		if (r < 0)
			return r;
		row->columns += r > 0;
	}
	*ret_row = TAKE(row);
	return 0;
}

void table_row_freep(struct table_row **pointer)
{
	struct table_row *row = *pointer;

	if (!row)
		return;
	for (uint32_t c = 0; c < row->columns; c++)
		free(row->column[c].value);
	free(row->column);
	free(row);
	*pointer = NULL;
}

const char *table_row_column(const struct table_row *row, uint32_t index, const char **ret_feature)
{
	if (index >= row->columns)
		return NULL;
	*ret_feature = row->column[index].feature;
	return row->column[index].name;
}

/* ---- One value ---- */

/* Returns the text of a value, as prep reads it: `number` has room for that of a number. NULL: no value. */
static const char *text_of(const cJSON *item, char number[static NUMBER_BYTES])
{
	if (cJSON_IsString(item))
		return item->valuestring;
	if (cJSON_IsBool(item))
		return cJSON_IsTrue(item) ? "true" : "false";
	return cJSON_IsNumber(item) && cJSON_PrintPreallocated((cJSON *)(uintptr_t)item, number,
							       (int)NUMBER_BYTES, false)
		       ? number
		       : NULL;
}

static bool is_missing(const struct table_row *row, const cJSON *item)
{
	const char *text = cJSON_GetStringValue(item);
	const cJSON *null;

	if (!text)
		return !item || cJSON_IsNull(item);
	cJSON_ArrayForEach(null, row->null)
		if (cJSON_IsString(null) && strcmp(null->valuestring, text) == 0)
			return true;
	return *text == '\0';
}

/* Returns a text as prep writes it: of a column of --hash, the first digits of its SHA-256, in `hex`. */
static const char *written(const struct column *column, const char *text, char hex[static DIGEST_HEX_BYTES])
{
	if (!column->hashed)
		return text;
	digest_sha256(text, strlen(text), hex);
	hex[HASH_DIGITS] = '\0';
	return hex;
}

/* Returns the id of a text, or -1. */
static double id_of(const struct column *column, const char *text)
{
	char hex[DIGEST_HEX_BYTES];
	const struct value key = { .text = written(column, text, hex) },
			   *found = bsearch(&key, column->value, column->values, sizeof(key), by_text);

	return found ? found->id : -1;
}

static int refuse(const struct column *column, const char *text, const char *expected, struct error *err)
{
	return error_set(err, -EBADMSG, "\"%s\": found \"%.60s\", expected %s", column->name,
			 text ? text : "", expected);
}

static int number_of(const struct table_row *row, const struct column *column, const cJSON *item,
		     double *ret_number, struct error *err)
{
	char number[NUMBER_BYTES];
	const char *text;
	bool whole;

	*ret_number = column->fill;
	if (is_missing(row, item))
		return 0;
	*ret_number = item->valuedouble;
	if (cJSON_IsNumber(item))
		return 0;
	text = text_of(item, number);
	return text && number_parse(text, strlen(text), ret_number, &whole)
		       ? 0
		       : refuse(column, text, "a number", err);
}

static int category_of(const struct table_row *row, const struct column *column, const cJSON *item,
		       double *ret_id, struct error *err)
{
	char number[NUMBER_BYTES];
	const char *text = is_missing(row, item) ? NULL : text_of(item, number);

	*ret_id = text ? id_of(column, text) : -1;
	if (*ret_id >= 0)
		return 0;
	*ret_id = 0;
	return column->is_label ? refuse(column, text, "a class of the model", err) : 0;
}

/* Tells whether a value is missing that --missing stop demands. Only features_add() knows whether the model
 * reads the feature, so that function refuses the row: it finds null in a list of numbers, or nothing. */
static bool lacks(const struct table_row *row, const struct column *column, const cJSON *item)
{
	return column->must && is_missing(row, item);
}

/* ---- A row ---- */

static int put(cJSON *object, const char *name, cJSON *item, struct error *err)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	return item && cJSON_AddItemToObject(object, name, item)
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for a row");
}

/* A missing text is empty. A list stays. */
static int translate_bytes(const struct table_row *row, const struct column *column, cJSON *object,
			   struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, column->name);
	char number[NUMBER_BYTES], hex[DIGEST_HEX_BYTES];
	const char *text;

	if (is_missing(row, item))
		return put(object, column->name, cJSON_CreateString(""), err);
	text = text_of(item, number);
	return text ? put(object, column->name, cJSON_CreateString(written(column, text, hex)), err) : 0;
}

/* Translates a column that is a feature of its own. A text of whole numbers stays, because a number of JSON
 * holds fewer digits. */
static int translate_own(const struct table_row *row, const struct column *column, cJSON *object,
			 struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, column->name);
	double number = 0;
	int r;

	if (column->is_label && is_missing(row, item))
		return refuse(column, NULL, "a label", err);
	if (cJSON_IsArray(item) || (strcmp(column->type, "int") == 0 && !is_missing(row, item)))
		return 0;
	r = strcmp(column->type, "category") == 0 ? category_of(row, column, item, &number, err)
						  : number_of(row, column, item, &number, err);
	return r < 0 ? r : put(object, column->name, cJSON_CreateNumber(number), err);
}

/* Adds a number to the list of its feature, and removes the column. */
static int translate_together(const struct table_row *row, const struct column *column, cJSON *object,
			      cJSON *numbers, struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, column->name);
	const bool none = lacks(row, column, item);
	double number;
	int r = number_of(row, column, item, &number, err);

	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(object, column->name);
	return cJSON_AddItemToArray(numbers, none ? cJSON_CreateNull() : cJSON_CreateNumber(number))
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for a row");
}

static int translate(const struct table_row *row, const struct column *column, cJSON *object, cJSON **numbers,
		     struct error *err)
{
	const bool own = column->feature && strcmp(column->feature, column->name) == 0;
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, column->name);

	if (!column->feature || (own && lacks(row, column, item))) {
		cJSON_DeleteItemFromObjectCaseSensitive(object, column->name);
		return 0;
	}
	if (strcmp(column->type, "bytes") == 0)
		return translate_bytes(row, column, object, err);
	if (own)
		return translate_own(row, column, object, err);
	/* The first of these columns sees whether the object has the list. */
	if (!*numbers && cJSON_HasObjectItem(object, column->feature))
		return 0;
	if (!*numbers)
		*numbers = cJSON_AddArrayToObject(object, column->feature);
	return *numbers ? translate_together(row, column, object, *numbers, err)
			: error_set(err, -ENOMEM, "no memory for a row");
}

int table_row_translate(const struct table_row *row, cJSON *object, struct error *err)
{
	cJSON *numbers = NULL; /* belongs to the object */
	int r = 0;

	for (uint32_t c = 0; row && r == 0 && c < row->columns; c++)
		r = translate(row, &row->column[c], object, &numbers, err);
	return r;
}
