/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/table.h"

#include "cli/table/input.h"
#include "core/base/number.h"
#include "core/base/utf8.h"

#include <math.h>
#include <string.h>

const char *const table_type_names[TABLE_TYPES] = { "auto", "float", "int", "category", "bytes", "empty" };

static const struct {
	const char *end;
	enum table_format format;
} ends[] = {
	{ ".csv", TABLE_CSV },
	{ ".tsv", TABLE_TSV },
	{ ".jsonl", TABLE_LINES },
	{ ".ndjson", TABLE_LINES },
};

/* ---- The format ---- */

int table_format_of(const char *name)
{
	size_t length = strlen(name);

	if (strncmp(name, INPUT_EXEC, strlen(INPUT_EXEC)) == 0)
		return TABLE_LINES;
	if (length > 3 && strcmp(name + length - 3, ".gz") == 0)
		length -= 3;
	else if (length > 4 && strcmp(name + length - 4, ".zst") == 0)
		length -= 4;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t bytes = strlen(ends[i].end);

		if (length > bytes && strncmp(name + length - bytes, ends[i].end, bytes) == 0)
			return (int)ends[i].format;
	}
	return -1;
}

/* A file .tsv without --format has lines of label<TAB>text, as kiln prep has always read them. */
bool table_is(const char *name, const char *format)
{
	const int named = table_format_of(name);

	return format || (named >= 0 && named != TABLE_TSV);
}

int table_choose_format(struct table *table, const char *format, struct error *err)
{
	static const char *const names[] = { "csv", "tsv", "jsonl" };
	const int named = table_format_of(table->input[0]);

	for (int i = 0; format && i < 3; i++)
		if (strcmp(names[i], format) == 0)
			table->format = (enum table_format)i;
	if (format)
		return 0;
	if (named < 0)
		return error_set(err, -EINVAL,
				 "%s: the name does not say the format of the table, expected --format",
				 table->input[0]);
	table->format = (enum table_format)named;
	for (uint32_t i = 1; i < table->inputs; i++)
		if (table_format_of(table->input[i]) != named)
			return error_set(
				err, -EINVAL,
				"%s: found another format than that of %s, expected one for all inputs; "
				"--format says it",
				table->input[i], table->input[0]);
	return 0;
}

/* ---- Options that name columns ---- */

uint32_t table_column_named(const struct table *table, const char *name)
{
	for (uint32_t c = 0; c < table->columns; c++)
		if (strcmp(table->column[c].name, name) == 0)
			return c;
	return TABLE_NO_COLUMN;
}

static int find(const struct table *table, const char *option, const char *name, uint32_t *ret_column,
		struct error *err)
{
	char names[512] = "";

	*ret_column = table_column_named(table, name);
	if (*ret_column != TABLE_NO_COLUMN)
		return 0;
	for (uint32_t c = 0; c < table->columns && strlen(names) + 70 < sizeof(names); c++) {
		(void)strcat(names, c ? ", " : "");
		(void)strncat(names, table->column[c].name, 60);
	}
	return error_set(err, -EINVAL, "--%s: found \"%s\", which is no column of %s; its columns are %s",
			 option, name, table->input[0], names);
}

static int find_one(struct table *table, const char *option, const char *name, uint32_t *ret_column,
		    struct error *err)
{
	*ret_column = TABLE_NO_COLUMN;
	return name ? find(table, option, name, ret_column, err) : 0;
}

/* Calls `each` for each part of a list with commas. `value` is what stands behind the last '=' of a part,
 * NULL without one. `column` is TABLE_NO_COLUMN for a part that is only a value, where `bare` allows it. */
static int each_part(struct table *table, const char *option, const char *list, bool bare,
		     int (*each)(struct table *table, uint32_t column, const char *value, struct error *err),
		     struct error *err)
{
	CLEANUP(free_ptr) char *copy = strdup(list);
	char *rest = copy, *part;
	int r = copy ? 0 : error_set(err, -ENOMEM, "no memory for --%s", option);

	while (r == 0 && (part = strsep(&rest, ","))) {
		char *value = strrchr(part, '=');
		uint32_t column = TABLE_NO_COLUMN;

		if (value)
			*value++ = '\0';
		if (value || !bare)
			r = find(table, option, part, &column, err);
		if (r == 0)
			r = each(table, column, value || !bare ? value : part, err);
	}
	return r;
}

static int set_type(struct table *table, uint32_t column, const char *value, struct error *err)
{
	for (int type = TABLE_FLOAT; type <= TABLE_BYTES; type++)
		if (value && strcmp(table_type_names[type], value) == 0) {
			table->column[column].said = (enum table_type)type;
			return 0;
		}
	return error_set(
		err, -EINVAL,
		"--type: found \"%s\" for the column \"%s\", expected COLUMN=TYPE with the type float, int, "
		"category or bytes",
		value ? value : "", table->column[column].name);
}

static int set_missing(struct table *table, uint32_t column, const char *value, struct error *err)
{
	const uint32_t first = column == TABLE_NO_COLUMN ? 0 : column,
		       end = column == TABLE_NO_COLUMN ? table->columns : column + 1;
	enum table_missing missing = strcmp(value, "mean") == 0 ? TABLE_MEAN : TABLE_STOP;
	double fill = 0;
	bool whole;

	if (number_parse(value, strlen(value), &fill, &whole))
		missing = TABLE_FILL;
	else if (missing == TABLE_STOP && strcmp(value, "stop") != 0)
		return error_set(err, -EINVAL, "--missing: found \"%s\", expected mean, stop or a number",
				 value);
	for (uint32_t c = first; c < end; c++) {
		table->column[c].missing = missing;
		table->column[c].fill = fill;
	}
	return 0;
}

static int set_dropped(struct table *table, uint32_t column, const char *value, struct error *err)
{
	if (value)
		return error_set(err, -EINVAL, "--drop: found \"=%s\", expected names of columns", value);
	table->column[column].dropped = true;
	return 0;
}

static int set_hashed(struct table *table, uint32_t column, const char *value, struct error *err)
{
	if (value)
		return error_set(err, -EINVAL, "--hash: found \"=%s\", expected names of columns", value);
	table->column[column].hashed = true;
	return 0;
}

static int apply(struct table *table, struct error *err)
{
	int r;

	if ((r = find_one(table, "label", table->label_name, &table->label, err)) < 0 ||
	    (r = find_one(table, "split-by", table->split_by_name, &table->split_by, err)) < 0 ||
	    (r = find_one(table, "date", table->date_name, &table->date, err)) < 0)
		return r;
	if (table->types_said && (r = each_part(table, "type", table->types_said, false, set_type, err)) < 0)
		return r;
	if (table->missing_said &&
	    (r = each_part(table, "missing", table->missing_said, true, set_missing, err)) < 0)
		return r;
	if (table->drop_said && (r = each_part(table, "drop", table->drop_said, false, set_dropped, err)) < 0)
		return r;
	if (table->hash_said && (r = each_part(table, "hash", table->hash_said, false, set_hashed, err)) < 0)
		return r;
	if (table->label != TABLE_NO_COLUMN && table->column[table->label].dropped)
		return error_set(err, -EINVAL, "--drop: found the column \"%s\", which is the label",
				 table->label_name);
	return 0;
}

/* ---- The names ---- */

static int check_name(const struct table *table, const char *what, const char *name, uint32_t column,
		      struct error *err)
{
	const size_t bytes = strlen(name);

	if (bytes == 0 || bytes >= CONFIG_FEATURE_NAME_BYTES || utf8_valid_bytes(name, bytes) < bytes)
		return error_set(
			err, -EBADMSG,
			"%s: the name of column %u: found \"%.80s\", expected 1 .. %u bytes of UTF-8; "
			"--columns can say other names",
			what, column + 1, name, CONFIG_FEATURE_NAME_BYTES - 1);
	if (table_column_named(table, name) != TABLE_NO_COLUMN)
		return error_set(err, -EBADMSG, "%s: column %u: found \"%s\", which is there already", what,
				 column + 1, name);
	return 0;
}

int table_name_columns(struct table *table, const char *what, char *const *name, uint32_t names,
		       struct error *err)
{
	if (names == TABLE_COLUMNS_MAX)
		return error_set(err, -EBADMSG, "%s: found %u columns or more, expected fewer", what, names);
	for (uint32_t c = 0; c < names; c++) {
		struct table_column *column = &table->column[c];
		int r = check_name(table, what, name[c], c, err);

		if (r < 0)
			return r;
		*column = (struct table_column){ .name = strdup(name[c]), .values = values_new() };
		table->columns++;
		if (!column->name || !column->values)
			return error_set(err, -ENOMEM, "no memory for %u columns", names);
	}
	return apply(table, err);
}

void table_done(struct table *table)
{
	for (uint32_t c = 0; c < table->columns; c++) {
		free(table->column[c].name);
		values_free(table->column[c].values);
		free(table->column[c].id);
		free(table->column[c].by_id);
	}
	for (int s = 0; s < TEXTS_SPLITS; s++)
		free(table->start[s]);
	free(table->null_texts);
	spill_free(table->spill);
}
