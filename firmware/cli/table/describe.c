/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/describe.h"

#include "cli/table/columns.h"
#include "core/base/visible.h"
#include "core/config/config_tree.h"

#include <inttypes.h>
#include <string.h>

/* ---- dataset.json ---- */

static void add_numbers(const struct table_column *column, cJSON *json)
{
	const struct table_facts *facts = &column->facts;

	cJSON_AddNumberToObject(json, "min", facts->min);
	cJSON_AddNumberToObject(json, "max", facts->max);
	if (facts->train_numbers)
		cJSON_AddNumberToObject(json, "mean", facts->train_sum / (double)facts->train_numbers);
}

static void add_values(const struct table_column *column, cJSON *json)
{
	cJSON *values = cJSON_AddArrayToObject(json, "values");

	for (uint32_t i = 1; i < column->ids; i++)
		cJSON_AddItemToArray(values,
				     json_string(values_text(column->values, column->by_id[i], NULL)));
}

static cJSON *describe_column(const struct table *table, uint32_t c)
{
	const struct table_column *column = &table->column[c];
	cJSON *json = cJSON_CreateObject();

	cJSON_AddItemToObject(json, "name", json_string(column->name));
	cJSON_AddStringToObject(json, "type", column->dropped ? "dropped" : table_type_names[column->type]);
	if (column->feature == TABLE_NO_COLUMN)
		return json;
	cJSON_AddItemToObject(json, "feature", json_string(columns_feature(table, c)));
	json_add_u64(json, "missing", column->facts.missing);
	if (column->type == TABLE_FLOAT || column->type == TABLE_INT) {
		if (column->missing != TABLE_STOP)
			cJSON_AddNumberToObject(json, "fill", column->fill);
		add_numbers(column, json);
	}
	if (column->missing == TABLE_STOP && c != table->label)
		cJSON_AddTrueToObject(json, "stop");
	if (column->hashed)
		cJSON_AddTrueToObject(json, "hashed");
	if (column->type == TABLE_CATEGORY && c != table->label)
		add_values(column, json);
	return json;
}

static void describe_split(const struct table *table, cJSON *json)
{
	cJSON *split = cJSON_AddObjectToObject(json, "split");

	if (table->test_after) {
		cJSON_AddItemToObject(split, "date", json_string(table->date_name));
		cJSON_AddItemToObject(split, "test_after", json_string(table->test_after));
	} else if (table->train_inputs == table->inputs) {
		json_add_u64(split, "test_percent", table->test_percent);
	}
	json_add_u64(split, "validation_percent", table->validation_percent);
	if (table->split_by_name)
		cJSON_AddItemToObject(split, "by", json_string(table->split_by_name));
	if (table->stratify)
		cJSON_AddTrueToObject(split, "stratify");
}

/* The texts of --null, which mean a missing value in new rows, too. */
static void describe_null(const struct table *table, cJSON *json)
{
	const char *at = table->null_said;
	cJSON *list = at ? cJSON_AddArrayToObject(json, "null") : NULL;

	while (at && *at) {
		const size_t length = strcspn(at, ",");
		CLEANUP(free_ptr) char *text = strndup(at, length);

		cJSON_AddItemToArray(list, json_string(text ? text : ""));
		at += length + (at[length] == ',');
	}
}

void describe_table(const struct table *table, cJSON *json)
{
	cJSON *columns = cJSON_AddArrayToObject(json, "columns");

	for (uint32_t c = 0; c < table->columns; c++)
		cJSON_AddItemToArray(columns, describe_column(table, c));
	if (table->label != TABLE_NO_COLUMN)
		cJSON_AddItemToObject(json, "label", json_string(table->label_name));
	describe_null(table, json);
	json_add_u64(json, "bad_rows", table->bad_rows);
	describe_split(table, json);
}

/* ---- What is printed ---- */

static void print_column(const struct table *table, uint32_t c)
{
	const struct table_column *column = &table->column[c];
	const struct table_facts *facts = &column->facts;
	const char *type = column->dropped ? "dropped" : table_type_names[column->type];

	fputs("  ", stdout);
	visible_print(column->name, stdout);
	printf(": %s%s", c == table->label ? "label, " : "", type);
	if (column->feature != TABLE_NO_COLUMN) {
		if (column->type == TABLE_FLOAT || column->type == TABLE_INT)
			printf(", %.7g .. %.7g", facts->min, facts->max);
		if (column->type == TABLE_CATEGORY)
			printf(", %u values", column->ids - (c != table->label));
		if (facts->missing)
			printf(", %" PRIu64 " missing", facts->missing);
		if (facts->missing && (column->type == TABLE_FLOAT || column->type == TABLE_INT))
			printf(" (written as %.7g)", column->fill);
		if (column->said == TABLE_AUTO && facts->numbers && facts->numbers < facts->values &&
		    facts->numbers >= facts->values / 2 && !column->hashed) {
			printf(", %" PRIu64 " of %" PRIu64 " values are no number, such as \"",
			       facts->values - facts->numbers, facts->values);
			visible_print(facts->text, stdout);
			fputs("\": if it means a missing value, say it with --null", stdout);
		}
	}
	putchar('\n');
}

static void print_feature(const struct example_feature *feature, bool last)
{
	fputs("  { name = ", stdout);
	config_print_string(stdout, feature->name);
	if (feature->dtype == EXAMPLE_BYTES)
		printf("; dtype = \"bytes\"; bytes_max = %" PRIu64 "; }", feature->bytes_max);
	else
		printf("; dtype = \"%s\"; shape = [ %" PRIu64 " ]; }",
		       feature->dtype == EXAMPLE_FLOAT32 ? "float32" : "int64", feature->elements);
	puts(last ? "" : ",");
}

void describe_print(const struct table *table)
{
	struct example_schema schema;

	columns_schema(table, &schema);
	if (table->bad_rows)
		printf("%" PRIu64 " bad rows left out\n", table->bad_rows);
	puts("columns:");
	for (uint32_t c = 0; c < table->columns; c++)
		print_column(table, c);
	puts("schema = (");
	for (uint32_t f = 0; f < schema.features; f++)
		print_feature(&schema.feature[f], f + 1 == schema.features);
	puts(");");
}
