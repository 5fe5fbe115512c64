/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/follow.h"

#include "cli/table/columns.h"
#include "core/run/dataset.h"

#include <inttypes.h>
#include <string.h>

#define CATEGORIES_MOST (1u << 20) /* different texts of a column in the new rows */

static const char *text(const cJSON *json, const char *key)
{
	const char *value = cJSON_GetStringValue(json_member(json, key));

	return value ? value : "";
}

/* ---- Options ---- */

/* Joins the texts of --null, as the option has them. */
static int follow_null(struct table *table, const cJSON *dataset, struct error *err)
{
	const cJSON *list = json_member(dataset, "null"), *item;
	size_t bytes = 1;

	table->null_said = NULL;
	cJSON_ArrayForEach(item, list)
		bytes += cJSON_IsString(item) ? strlen(item->valuestring) + 1 : 0;
	table->null_texts = calloc(1, bytes);
	if (!table->null_texts)
		return error_set(err, -ENOMEM, "no memory for --null");
	cJSON_ArrayForEach(item, list) {
		if (!cJSON_IsString(item))
			continue;
		(void)strcat(table->null_texts, *table->null_texts ? "," : "");
		(void)strcat(table->null_texts, item->valuestring);
	}
	if (*table->null_texts)
		table->null_said = table->null_texts;
	return 0;
}

int follow_options(struct table *table, const cJSON *dataset, struct error *err)
{
	const cJSON *columns = json_member(dataset, "columns"), *column;
	const char *label = text(dataset, "label");

	if (!cJSON_IsArray(columns))
		return error_set(err, -EINVAL, "%s: --append: the set in the output was not made of a table",
				 table->input[0]);
	if (table->label_name && strcmp(table->label_name, label) != 0)
		return error_set(err, -EINVAL,
				 "%s: --append: found --label %s, but the first set has the label \"%s\"",
				 table->input[0], table->label_name, label);
	table->first = dataset;
	table->label_name = *label ? label : NULL;
	table->types_said = table->missing_said = table->drop_said = table->hash_said = NULL;
	table->categories = CATEGORIES_MOST;
	table->together = false;
	cJSON_ArrayForEach(column, columns) {
		const char *feature = text(column, "feature");

		table->together |= *feature && strcmp(feature, text(column, "name")) != 0;
	}
	return follow_null(table, dataset, err);
}

/* ---- Columns ---- */

static const cJSON *first_column(const struct table *table, const char *name)
{
	const cJSON *column;

	cJSON_ArrayForEach(column, json_member(table->first, "columns"))
		if (strcmp(text(column, "name"), name) == 0)
			return column;
	return NULL;
}

static void follow_column(const cJSON *first, struct table_column *column)
{
	column->dropped = true;
	for (int type = TABLE_FLOAT; type <= TABLE_BYTES; type++)
		if (strcmp(text(first, "type"), table_type_names[type]) == 0) {
			column->said = (enum table_type)type;
			column->dropped = false;
		}
	column->hashed = cJSON_IsTrue(json_member(first, "hashed"));
	column->missing = cJSON_IsTrue(json_member(first, "stop")) ? TABLE_STOP : TABLE_FILL;
	column->fill = json_number(first, "fill", 0);
	/* Only the values of a category have ids. */
	if (column->dropped || column->said != TABLE_CATEGORY) {
		values_free(column->values);
		column->values = NULL;
	}
}

int follow_columns(struct table *table, struct error *err)
{
	const cJSON *first;

	for (uint32_t c = 0; c < table->columns; c++) {
		first = first_column(table, table->column[c].name);
		if (!first)
			return error_set(
				err, -EINVAL,
				"%s: --append: found the column \"%s\", which the first set does not "
				"have",
				table->input[0], table->column[c].name);
		follow_column(first, &table->column[c]);
	}
	cJSON_ArrayForEach(first, json_member(table->first, "columns"))
		if (*text(first, "feature") &&
		    table_column_named(table, text(first, "name")) == TABLE_NO_COLUMN)
			return error_set(err, -EINVAL,
					 "%s: --append: found no column \"%s\", which the first set has",
					 table->input[0], text(first, "name"));
	return 0;
}

/* ---- Ids and features ---- */

static int no_memory(const struct table_column *column, struct error *err)
{
	return error_set(err, -ENOMEM, "no memory for the values of the column \"%s\"", column->name);
}

/* Gives the values of a category the ids of the list, which begin at `first`; all others have the id 0. */
static int follow_ids(struct table_column *column, const cJSON *list, uint32_t first, struct error *err)
{
	const uint32_t listed = (uint32_t)cJSON_GetArraySize(list);
	const size_t most = (size_t)values_count(column->values) + listed + 1;
	const cJSON *item;

	column->id = calloc(most, sizeof(*column->id));
	column->by_id = calloc((size_t)listed + 2, sizeof(*column->by_id));
	if (!column->id || !column->by_id)
		return no_memory(column, err);
	column->ids = first;
	cJSON_ArrayForEach(item, list) {
		const char *value = cJSON_IsString(item) ? item->valuestring : "";
		const uint32_t number = values_add(column->values, value, strlen(value), 0);

		if (number == VALUES_NONE)
			return no_memory(column, err);
		column->id[number] = column->ids;
		column->by_id[column->ids++] = number;
	}
	return 0;
}

/* `values`: how many values the new rows have. */
static int check_label(const struct table *table, const struct table_column *column, uint32_t values,
		       struct error *err)
{
	for (uint32_t i = 0; i < values; i++)
		if (column->by_id[column->id[i]] != i)
			return error_set(
				err, -EINVAL,
				"%s: --append: label \"%s\": found \"%.80s\", which is no class of the "
				"first set",
				table->input[0], column->name, values_text(column->values, i, NULL));
	return 0;
}

static int follow_category(const struct table *table, struct table_column *column, const cJSON *first,
			   struct error *err)
{
	const bool is_label = (uint32_t)(column - table->column) == table->label;
	uint32_t values;
	int r;

	if (!column->values)
		return error_set(err, -EINVAL,
				 "%s: --append: column \"%s\": found more than %u different values, expected "
				 "fewer for a category",
				 table->input[0], column->name, CATEGORIES_MOST);
	values = values_count(column->values);
	r = is_label ? follow_ids(column, dataset_classes(table->first), 0, err)
		     : follow_ids(column, json_member(first, "values"), 1, err);

	return r < 0 || !is_label ? r : check_label(table, column, values, err);
}

/* Returns the feature of dataset.json with this name, and sets *ret_index. */
static const cJSON *find_feature(const struct table *table, const char *name, uint32_t *ret_index)
{
	const cJSON *feature;

	*ret_index = 0;
	cJSON_ArrayForEach(feature, json_member(table->first, "schema")) {
		if (strcmp(text(feature, "name"), name) == 0)
			return feature;
		(*ret_index)++;
	}
	return NULL;
}

static int check_bytes(const struct table *table, struct table_column *column, const cJSON *feature,
		       struct error *err)
{
	const uint64_t most = (uint64_t)json_number(feature, "bytes_max", 0);

	if (column->facts.longest > most)
		return error_set(err, -EINVAL,
				 "%s: --append: column \"%s\": found a text of %" PRIu64
				 " bytes, the feature of the first set holds %" PRIu64,
				 table->input[0], column->name, column->facts.longest, most);
	column->facts.longest = most;
	return 0;
}

/* `place`: how many numbers of the common feature came before. */
static int decide_column(struct table *table, const cJSON *first, uint32_t *place, struct error *err)
{
	const char *name = text(first, "feature");
	const uint32_t c = table_column_named(table, text(first, "name"));
	struct table_column *column = &table->column[c];
	const cJSON *feature;

	if (column->feature != TABLE_NO_COLUMN)
		return error_set(err, -EBADMSG,
				 DATASET_NAME ": column \"%s\": found it twice, expected it once",
				 column->name);
	feature = find_feature(table, name, &column->feature);
	if (!feature || column->dropped || column->feature >= EXAMPLE_FEATURES_MAX)
		return error_set(err, -EBADMSG, DATASET_NAME ": column \"%s\": found no feature \"%s\"",
				 column->name, name);
	column->type = column->said;
	if (strcmp(name, columns_feature(table, c)) != 0)
		return error_set(err, -EBADMSG,
				 DATASET_NAME ": column \"%s\": found the feature \"%s\", expected \"%s\"",
				 column->name, name, columns_feature(table, c));
	if (strcmp(name, column->name) != 0)
		column->place = (*place)++;
	if (column->type == TABLE_CATEGORY)
		return follow_category(table, column, first, err);
	return column->type == TABLE_BYTES ? check_bytes(table, column, feature, err) : 0;
}

/* Checks that each feature of the first set is made of columns. kiln prep compares the rest of the schema. */
static int check_features(const struct table *table, struct error *err)
{
	struct example_schema schema;
	const cJSON *feature;
	uint32_t f = 0;

	columns_schema(table, &schema);
	cJSON_ArrayForEach(feature, json_member(table->first, "schema")) {
		if (f >= schema.features || !schema.feature[f].name)
			return error_set(err, -EBADMSG,
					 DATASET_NAME ": schema: found \"%s\", which no column becomes",
					 text(feature, "name"));
		f++;
	}
	return 0;
}

int follow_decide(struct table *table, struct error *err)
{
	const cJSON *first;
	uint32_t place = 0;
	int r = 0;

	if (table->rows[TEXTS_TRAIN] == 0)
		return error_set(err, -EBADMSG, "%s: found no row to train on", table->input[0]);
	for (uint32_t c = 0; c < table->columns; c++) {
		table->column[c].type = TABLE_EMPTY;
		table->column[c].feature = TABLE_NO_COLUMN;
	}
	cJSON_ArrayForEach(first, json_member(table->first, "columns"))
		if (*text(first, "feature") && (r = decide_column(table, first, &place, err)) < 0)
			return r;
	return check_features(table, err);
}
