/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.json of a first set, for kiln prep --append of a table. The columns of the new rows are those that
 * it names. Where it is followed, each feature has its columns, and each place is in the row of its feature.
 */
#include "cli/table/follow.h"
#include "cli/table/columns.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

/* Returns how many different names the columns have. */
static uint32_t names_of(const cJSON *dataset, char *names[static TABLE_COLUMNS_MAX])
{
	const cJSON *column;
	uint32_t count = 0, i;

	cJSON_ArrayForEach(column, json_member(dataset, "columns")) {
		char *name = cJSON_GetStringValue(json_member(column, "name"));

		for (i = 0; name && i < count && strcmp(names[i], name) != 0; i++)
			;
		if (name && i == count && count + 1 < TABLE_COLUMNS_MAX)
			names[count++] = name;
	}
	return count;
}

static int follow(struct table *table, const cJSON *dataset, struct error *err)
{
	char *names[TABLE_COLUMNS_MAX];
	const uint32_t count = names_of(dataset, names);
	int r = follow_options(table, dataset, err);

	if (r < 0 || (r = table_name_columns(table, "new.csv", names, count, err)) < 0 ||
	    (r = follow_columns(table, err)) < 0)
		return r;
	for (uint32_t c = 0; c < table->columns; c++)
		if (table->column[c].values)
			must(values_add(table->column[c].values, "no", 2, 1) == 0);
	return follow_decide(table, err);
}

static void check(const struct table *table)
{
	struct example_schema schema;

	columns_schema(table, &schema);
	for (uint32_t f = 0; f < schema.features; f++)
		must(schema.feature[f].name && schema.feature[f].elements > 0);
	for (uint32_t c = 0; c < table->columns; c++) {
		const struct table_column *column = &table->column[c];

		must(column->feature == TABLE_NO_COLUMN ||
		     column->place < schema.feature[column->feature].elements);
		must(!column->id || column->id[0] < column->ids || column->id[0] == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *inputs[] = { "new.csv" };
	CLEANUP(json_free) cJSON *dataset = NULL;
	struct table *table = calloc(1, sizeof(*table));
	struct error err = { 0 };

	must(table != NULL);
	table->input = inputs;
	table->rows[TEXTS_TRAIN] = 1;
	if (json_parse("dataset.json", (const char *)data, size, &dataset, &err) == 0) {
		if (follow(table, dataset, &err) == 0)
			check(table);
		else
			must(*err.text);
	}
	table_done(table);
	free(table);
	return 0;
}
