/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/columns.h"

#include "core/base/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Types ---- */

/* Texts of which most occur once, such as names or numbers of orders, are no categories. */
static bool repeats(const struct table_column *column)
{
	return column->values && (uint64_t)values_count(column->values) * 2 <= column->facts.values;
}

static int decide_type(struct table *table, uint32_t c, struct error *err)
{
	struct table_column *column = &table->column[c];
	const struct table_facts *facts = &column->facts;
	const bool is_label = c == table->label, numbers = facts->numbers == facts->values,
		   few = column->values && values_count(column->values) <= TABLE_CLASSES;

	column->type = column->said;
	if (facts->values == 0)
		column->type = TABLE_EMPTY;
	else if (column->said == TABLE_AUTO && numbers && !column->hashed)
		column->type =
			is_label && facts->whole == facts->values && few ? TABLE_CATEGORY : TABLE_FLOAT;
	else if (column->said == TABLE_AUTO)
		column->type = is_label || repeats(column) ? TABLE_CATEGORY : TABLE_BYTES;
	if (column->type == TABLE_CATEGORY && !column->values)
		return error_set(
			err, -EINVAL,
			"%s: column \"%s\": found more than %" PRIu64
			" different values, expected fewer for a category; --categories says how many",
			table->input[0], column->name, table->categories);
	if (is_label && column->type == TABLE_BYTES)
		return error_set(err, -EINVAL,
				 "--type: found bytes for the label \"%s\", expected another type",
				 column->name);
	return 0;
}

/* The mean of the training split alone. */
static void decide_fill(struct table_column *column)
{
	const struct table_facts *facts = &column->facts;

	if (column->missing == TABLE_MEAN)
		column->fill = column->type == TABLE_FLOAT && facts->train_numbers
				       ? facts->train_sum / (double)facts->train_numbers
				       : 0;
}

/* ---- Ids ---- */

struct entry {
	const char *text;
	double number;
	uint32_t value;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

static int by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number ? 1 : by_text(a, b);
}

/* Lists the values that train; of the label, all. Returns how many. */
static uint32_t list(const struct table_column *column, bool is_label, struct entry *entry)
{
	const uint32_t count = values_count(column->values);
	uint32_t entries = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t bytes;
		bool whole;

		if (!is_label && values_rows(column->values, i) == 0)
			continue;
		entry[entries] = (struct entry){ .text = values_text(column->values, i, &bytes), .value = i };
		(void)!number_parse(entry[entries].text, bytes, &entry[entries].number, &whole);
		entries++;
	}
	qsort(entry, entries, sizeof(*entry),
	      column->facts.numbers == column->facts.values ? by_number : by_text);
	return entries;
}

static int decide_ids(struct table_column *column, bool is_label, struct error *err)
{
	const uint32_t count = values_count(column->values), first = is_label ? 0 : 1;
	CLEANUP(free_ptr) struct entry *entry = calloc((size_t)count + 1, sizeof(*entry));

	column->id = calloc((size_t)count + 1, sizeof(*column->id));
	column->by_id = calloc((size_t)count + 2, sizeof(*column->by_id));
	if (!entry || !column->id || !column->by_id)
		return error_set(err, -ENOMEM, "no memory for %u values", count);
	column->ids = list(column, is_label, entry) + first;
	for (uint32_t i = first; i < column->ids; i++) {
		column->by_id[i] = entry[i - first].value;
		column->id[entry[i - first].value] = i;
	}
	return 0;
}

static int check_classes(const struct table *table, const struct table_column *column, struct error *err)
{
	if (column->ids < 2 || column->ids > TEXTS_LABELS_MAX)
		return error_set(err, -EBADMSG, "%s: label \"%s\": found %u classes, expected 2 .. %u",
				 table->input[0], column->name, column->ids, TEXTS_LABELS_MAX);
	for (uint32_t i = 0; i < column->ids; i++) {
		uint64_t bytes;
		const char *name = values_text(column->values, column->by_id[i], &bytes);

		if (bytes >= TEXTS_LABEL_BYTES)
			return error_set(err, -EBADMSG,
					 "%s: label \"%s\": found a class of %" PRIu64 " bytes, at most %u",
					 table->input[0], column->name, bytes, TEXTS_LABEL_BYTES - 1);
		if (values_rows(column->values, column->by_id[i]) == 0)
			return error_set(err, -EBADMSG,
					 "%s: class \"%s\" has 0 training rows, at least 1 is needed",
					 table->input[0], name);
	}
	return 0;
}

/* ---- Features ---- */

static int decide_features(struct table *table, struct error *err)
{
	uint32_t features = 0, places = 0;

	for (uint32_t c = 0; c < table->columns; c++) {
		struct table_column *column = &table->column[c];

		column->feature = TABLE_NO_COLUMN;
		if (column->dropped || column->type == TABLE_EMPTY)
			continue;
		if (table->together && c != table->label && column->type == TABLE_FLOAT) {
			features += places == 0 ? 1 : 0;
			column->place = places++;
		}
	}
	for (uint32_t c = 0; c < table->columns; c++) {
		struct table_column *column = &table->column[c];

		if (column->dropped || column->type == TABLE_EMPTY)
			continue;
		column->feature =
			table->together && c != table->label && column->type == TABLE_FLOAT ? 0 : features++;
		if (places && strcmp(column->name, TABLE_TOGETHER_FEATURE) == 0)
			return error_set(
				err, -EINVAL,
				"%s: found the column \"%s\", which --together gives to its feature; "
				"--columns can say another name",
				table->input[0], column->name);
	}
	if (features <= EXAMPLE_FEATURES_MAX)
		return features ? 0 : error_set(err, -EBADMSG, "%s: no column has a value", table->input[0]);
	return error_set(
		err, -EINVAL,
		"%s: found %u columns, a record has at most %u features: --together makes one feature of "
		"all numbers, --drop leaves columns out",
		table->input[0], features, EXAMPLE_FEATURES_MAX);
}

int columns_decide(struct table *table, struct error *err)
{
	if (table->rows[TEXTS_TRAIN] == 0)
		return error_set(err, -EBADMSG, "%s: found no row to train on", table->input[0]);
	for (uint32_t c = 0; c < table->columns; c++) {
		struct table_column *column = &table->column[c];
		int r = column->dropped ? 0 : decide_type(table, c, err);

		if (r < 0)
			return r;
		decide_fill(column);
		if (!column->dropped && column->type == TABLE_CATEGORY &&
		    (r = decide_ids(column, c == table->label, err)) < 0)
			return r;
		if (c == table->label && column->type == TABLE_CATEGORY &&
		    (r = check_classes(table, column, err)) < 0)
			return r;
	}
	return decide_features(table, err);
}

const char *columns_feature(const struct table *table, uint32_t column)
{
	const bool is_number = table->column[column].type == TABLE_FLOAT && column != table->label;

	return table->together && is_number ? TABLE_TOGETHER_FEATURE : table->column[column].name;
}

void columns_schema(const struct table *table, struct example_schema *ret_schema)
{
	static const enum example_dtype dtypes[TABLE_TYPES] = {
		[TABLE_FLOAT] = EXAMPLE_FLOAT32,
		[TABLE_INT] = EXAMPLE_INT64,
		[TABLE_CATEGORY] = EXAMPLE_INT64,
		[TABLE_BYTES] = EXAMPLE_BYTES,
	};

	*ret_schema = (struct example_schema){ 0 };
	for (uint32_t c = 0; c < table->columns; c++) {
		const struct table_column *column = &table->column[c];
		struct example_feature *feature;

		if (column->feature == TABLE_NO_COLUMN)
			continue;
		feature = &ret_schema->feature[column->feature];
		if (column->feature >= ret_schema->features)
			ret_schema->features = column->feature + 1;
		feature->dtype = dtypes[column->type];
		feature->elements++;
		feature->name = columns_feature(table, c);
		if (column->type == TABLE_BYTES)
			feature->bytes_max = column->facts.longest;
	}
}
