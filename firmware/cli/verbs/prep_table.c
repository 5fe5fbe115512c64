/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs/prep_table.h"

#include "cli/table/kind.h"
#include "cli/table/table.h"
#include "core/base/number.h"

#include <math.h>
#include <string.h>

#define MEMORY_MIB       512u
#define MEMORY_MIB_LEAST 64u

const struct verb_option prep_table_options[] = {
	{ .name = "format",
	  .value = VERB_CHOICE,
	  .argument = "NAME",
	  .choices = "csv|tsv|jsonl",
	  .help = "the input is a table of this format, whatever its name is; without it, INPUT is a table "
		  "where "
		  "its name ends with .csv, .jsonl or .ndjson, or with .tsv and --label is given" },
	{ .name = "columns",
	  .value = VERB_TEXT,
	  .argument = "NAME,...",
	  .help = "of a table: the names of its columns, which then has no header" },
	{ .name = "label", .value = VERB_TEXT, .argument = "COLUMN", .help = "of a table: the label" },
	{ .name = "type",
	  .value = VERB_TEXT,
	  .argument = "COLUMN=TYPE,...",
	  .help = "of a table: what columns become: float, int, category (the ids of texts) or bytes; "
		  "default: "
		  "float where all values are numbers, category where they are few, otherwise bytes" },
	{ .name = "missing",
	  .value = VERB_TEXT,
	  .argument = "[COLUMN=]V,...",
	  .help = "of a table: what a missing number becomes: mean (default) = the mean of the training "
		  "split, a "
		  "number, or stop = the row is bad; a missing category is always id 0" },
	{ .name = "null",
	  .value = VERB_TEXT,
	  .argument = "TEXT,...",
	  .help = "of a table: texts that mean a missing value, beside an empty one" },
	{ .name = "bad-rows",
	  .value = VERB_CHOICE,
	  .argument = "NAME",
	  .choices = "stop|skip",
	  .help = "of a table: what happens at a row with a wrong number of values, a wrong value or a wrong "
		  "quote: stop (default), or skip = it is left out and counted; both print input, line and "
		  "column" },
	{ .name = "categories",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = 1u << 20,
	  .help = "of a table: a column of texts with more different values becomes bytes, default 10000" },
	{ .name = "together",
	  .help = "of a table: all numbers become one feature, numbers, and not one each" },
	{ .name = "drop",
	  .value = VERB_TEXT,
	  .argument = "COLUMN,...",
	  .help = "of a table: columns that are left out" },
	{ .name = "hash",
	  .value = VERB_TEXT,
	  .argument = "COLUMN,...",
	  .help = "of a table: columns of which 16 digits of the SHA-256 take the place of the values" },
	{ .name = "split-by",
	  .value = VERB_TEXT,
	  .argument = "COLUMN",
	  .help = "of a table: all rows with one value of this column come into one split" },
	{ .name = "date",
	  .value = VERB_TEXT,
	  .argument = "COLUMN",
	  .help = "of a table: the column that --test-after compares" },
	{ .name = "test-after",
	  .value = VERB_TEXT,
	  .argument = "VALUE",
	  .help = "of a table: rows whose --date is greater are the test split; dates are compared as texts, "
		  "such as 2026-01-31, or as numbers where VALUE is a number" },
	{ .name = "stratify",
	  .help = "of a table: each label gives the same share of its rows to each split" },
	{ .name = "validation-percent",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .max = 90,
	  .help = "of a table: percent of the rows for shards validation-*, which split.by = \"prefix\" "
		  "reads; "
		  "default 0" },
	{ .name = "memory",
	  .value = VERB_NUMBER,
	  .argument = "MIB",
	  .min = MEMORY_MIB_LEAST,
	  .max = 1u << 20,
	  .help = "of a table: memory in MiB, default 512; more rows lie in a temporary file in the folder "
		  "TMPDIR, or /tmp" },
	{ 0 },
};

static bool is_table(const struct arguments *arguments)
{
	return arguments_have(arguments, "label") ||
	       table_is(arguments->operand[0], arguments_text(arguments, "format"));
}

static void read_options(struct table *table, const struct arguments *arguments)
{
	const char *bad_rows = arguments_text(arguments, "bad-rows");

	table->columns_said = arguments_text(arguments, "columns");
	table->label_name = arguments_text(arguments, "label");
	table->types_said = arguments_text(arguments, "type");
	table->missing_said = arguments_text(arguments, "missing");
	table->null_said = arguments_text(arguments, "null");
	table->skip_bad = bad_rows && strcmp(bad_rows, "skip") == 0;
	table->categories = arguments_number(arguments, "categories", TABLE_CATEGORIES);
	table->together = arguments_have(arguments, "together");
	table->drop_said = arguments_text(arguments, "drop");
	table->hash_said = arguments_text(arguments, "hash");
	table->split_by_name = arguments_text(arguments, "split-by");
	table->date_name = arguments_text(arguments, "date");
	table->test_after = arguments_text(arguments, "test-after");
	table->stratify = arguments_have(arguments, "stratify");
	table->validation_percent = arguments_number(arguments, "validation-percent", 0);
	table->memory_bytes = arguments_number(arguments, "memory", MEMORY_MIB) << 20;
	table->test_after_number = NAN;
}

/* Refuses options that contradict each other. */
static int check(struct table *table, const struct prep *prep, struct error *err)
{
	const char *wrong = NULL;
	bool whole;

	if (!table->test_after != !table->date_name)
		wrong = "one of --date and --test-after, expected both";
	else if (table->test_after && prep->test_input)
		wrong = "--test-after and --test, expected one";
	else if (table->stratify && (!table->label_name || table->split_by_name))
		wrong = "--stratify, expected it with --label and without --split-by";
	else if (table->test_percent + table->validation_percent > 90)
		wrong = "more than 90 percent for test and validation";
	if (wrong)
		return error_set(err, -EINVAL, "%s: found %s", table->input[0], wrong);
	if (table->test_after &&
	    !number_parse(table->test_after, strlen(table->test_after), &table->test_after_number, &whole))
		table->test_after_number = NAN;
	return 0;
}

/* Refuses the options for tables, where the input is none. */
static int refuse_options(const struct prep *prep, const struct arguments *arguments, struct error *err)
{
	for (const struct verb_option *option = prep_table_options; option->name; option++)
		if (arguments_have(arguments, option->name))
			return error_set(
				err, -EINVAL,
				"%s: found --%s, which is an option for tables; --format says that the "
				"input is a table",
				prep->input[0], option->name);
	return 0;
}

int prep_table_open(struct prep *prep, const struct arguments *arguments, struct error *err)
{
	const uint32_t inputs = (uint32_t)prep->inputs;
	struct table *table;

	if (!is_table(arguments))
		return refuse_options(prep, arguments, err);
	table = calloc(1, sizeof(*table));
	prep->table = table;
	if (!table || !(table->input = calloc((size_t)inputs + 1, sizeof(*table->input))))
		return error_set(err, -ENOMEM, "no memory for a table");
	prep->kind = &prep_table;
	memcpy(table->input, prep->input, inputs * sizeof(*table->input));
	table->inputs = table->train_inputs = inputs;
	if (prep->test_input)
		table->input[table->inputs++] = (char *)(uintptr_t)prep->test_input;
	table->where = prep->where;
	table->test_percent = prep->test_percent;
	table->seed = prep->seed;
	read_options(table, arguments);
	return check(table, prep, err) < 0
		       ? err->code
		       : table_choose_format(table, arguments_text(arguments, "format"), err);
}

void prep_table_done(struct prep *prep)
{
	if (!prep->table)
		return;
	table_done(prep->table);
	free(prep->table->input);
	free(prep->table);
}
