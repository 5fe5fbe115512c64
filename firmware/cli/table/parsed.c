/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/parsed.h"

#include "cli/table/split.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/base/visible.h"
#include "drivers/digest/digest.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define HASH_DIGITS 16u
#define ROW_ALIGN   8u
#define SHOWN_BYTES 60 /* of a wrong value */

/* ---- A block ---- */

int parsed_init(struct parsed *rows, const struct table *table, struct error *err)
{
	rows->table = table;
	rows->facts = calloc(table->columns, sizeof(*rows->facts));
	rows->values = calloc(table->columns, sizeof(struct values *));
	rows->labels = values_new();
	return rows->facts && rows->values && rows->labels
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for %u columns", table->columns);
}

void parsed_done(struct parsed *rows)
{
	for (uint32_t c = 0; rows->values && c < rows->table->columns; c++)
		values_free(rows->values[c]);
	free(rows->values);
	values_free(rows->labels);
	free(rows->facts);
	free(rows->field);
	free(rows->data);
}

/* Columns whose values are not counted have NULL: struct values_of a column of the table is freed where there
 * are too many, see read.c. */
static bool begin_values(struct parsed *rows, uint32_t c)
{
	const bool many = !__atomic_load_n(&rows->table->column[c].values, __ATOMIC_RELAXED);

	if (many) {
		values_free(rows->values[c]);
		rows->values[c] = NULL;
		return true;
	}
	if (!rows->values[c])
		return (rows->values[c] = values_new()) != NULL;
	values_clear(rows->values[c]);
	return true;
}

int parsed_begin(struct parsed *rows, const struct block *block, struct error *err)
{
	rows->block = block->number;
	rows->is_test = block->input >= rows->table->train_inputs;
	values_clear(rows->labels);
	rows->lines = rows->count = rows->used = rows->bads = 0;
	memset(rows->rows, 0, sizeof(rows->rows));
	memset(rows->facts, 0, rows->table->columns * sizeof(*rows->facts));
	for (uint32_t c = 0; c < rows->table->columns; c++)
		if (!begin_values(rows, c))
			return error_set(err, -ENOMEM, "no memory for the values of a column");
	return 0;
}

bool parsed_go_on(const struct parsed *rows)
{
	return !rows->failed && (rows->bads == 0 || rows->table->skip_bad);
}

/* ---- A row while it is parsed ---- */

void parsed_begin_row(struct parsed *rows, uint64_t line)
{
	rows->line = line;
	parsed_drop_row(rows);
}

uint64_t parsed_line(const struct parsed *rows)
{
	return rows->line;
}

void parsed_drop_row(struct parsed *rows)
{
	rows->fields = 0;
	rows->field_used = 0;
}

static bool reserve(char **data, uint64_t used, uint64_t bytes, uint64_t *capacity)
{
	const uint64_t grown = used + bytes > *capacity * 2 ? used + bytes : *capacity * 2;
	char *memory;

	if (used + bytes <= *capacity)
		return true;
	memory = realloc(*data, grown);
	if (!memory)
		return false;
	*data = memory;
	*capacity = grown;
	return true;
}

void parsed_field(struct parsed *rows, const char *text, uint64_t bytes)
{
	if (!reserve(&rows->field, rows->field_used, bytes + 1, &rows->field_capacity)) {
		rows->failed = true;
		return;
	}
	if (rows->fields < rows->table->columns)
		rows->at[rows->fields] = rows->field_used;
	rows->fields++;
	if (bytes)
		memcpy(rows->field + rows->field_used, text, bytes);
	rows->field[rows->field_used + bytes] = '\0';
	rows->field_used += bytes + 1;
}

void parsed_bad(struct parsed *rows, const char *format, ...)
{
	va_list arguments;

	if (rows->bads < PARSED_BAD_MAX) {
		struct table_bad *bad = &rows->bad[rows->bads];

		bad->line = rows->line;
		va_start(arguments, format);
		(void)vsnprintf(bad->text, sizeof(bad->text), format, arguments);
		va_end(arguments);
	}
	rows->bads++;
}

/* Counts a bad value. The longest column name and value fit. */
static bool bad_value(struct parsed *rows, uint32_t c, const char *found, const char *expected)
{
	parsed_bad(rows, ", column \"%.63s\": found %s%.*s%s, expected %s", rows->table->column[c].name,
		   *found ? "\"" : "", SHOWN_BYTES, *found ? found : "no value", *found ? "\"" : "",
		   expected);
	return false;
}

/* ---- A whole row ---- */

static const char *value_of(const struct parsed *rows, uint32_t c, uint64_t *ret_bytes)
{
	const uint64_t end = c + 1 < rows->fields ? rows->at[c + 1] : rows->field_used;

	*ret_bytes = end - rows->at[c] - 1;
	return rows->field + rows->at[c];
}

static bool is_null(const struct table *table, const char *text, uint64_t bytes)
{
	const char *at = table->null_said;

	if (bytes == 0)
		return true;
	while (at && *at) {
		const size_t length = strcspn(at, ",");

		if (length == bytes && memcmp(at, text, bytes) == 0)
			return true;
		at += length + (at[length] == ',');
	}
	return false;
}

static bool check_missing(struct parsed *rows, uint32_t c)
{
	const struct table_column *column = &rows->table->column[c];

	if (c == rows->table->label)
		return bad_value(rows, c, "", "a label");
	if (column->missing == TABLE_STOP)
		return bad_value(rows, c, "", "a value, as --missing stop says");
	return true;
}

static bool check_value(struct parsed *rows, uint32_t c)
{
	const enum table_type said = rows->table->column[c].said;
	uint64_t bytes, valid;
	const char *text = value_of(rows, c, &bytes);

	rows->is_missing[c] = is_null(rows->table, text, bytes);
	rows->is_number[c] = false;
	if (rows->table->column[c].dropped)
		return true;
	if (rows->is_missing[c])
		return check_missing(rows, c);
	rows->is_number[c] = number_parse(text, bytes, &rows->number[c], &rows->is_whole[c]);
	if (rows->is_number[c])
		return said != TABLE_INT || rows->is_whole[c] || bad_value(rows, c, text, "a whole number");
	if (said == TABLE_FLOAT || said == TABLE_INT)
		return bad_value(rows, c, text, said == TABLE_FLOAT ? "a number" : "a whole number");
	valid = utf8_valid_bytes(text, bytes);
	if (valid < bytes)
		return bad_value(rows, c, text, "UTF-8");
	return !memchr(text, '\0', bytes) || bad_value(rows, c, text, "a text without the byte 0");
}

/* Checks all values before one is counted: a bad row counts nowhere. */
static bool check_row(struct parsed *rows)
{
	const struct table *table = rows->table;

	if (rows->fields != table->columns) {
		parsed_bad(rows, ": found %u values, expected %u as there are columns", rows->fields,
			   table->columns);
		return false;
	}
	for (uint32_t c = 0; c < table->columns; c++)
		if (!check_value(rows, c))
			return false;
	return true;
}

static void count_number(struct table_facts *facts, double number, bool whole, bool train)
{
	facts->min = facts->numbers == 0 || number < facts->min ? number : facts->min;
	facts->max = facts->numbers == 0 || number > facts->max ? number : facts->max;
	facts->numbers++;
	facts->whole += whole;
	if (train) {
		facts->train_sum += number;
		facts->train_numbers++;
	}
}

/* Counts a value. Returns its number among the values of the column, or VALUES_NONE. */
static uint32_t count_value(struct parsed *rows, uint32_t c, enum texts_split split)
{
	struct table_facts *facts = &rows->facts[c];
	uint64_t bytes;
	const char *text = value_of(rows, c, &bytes);

	if (rows->is_missing[c]) {
		facts->missing++;
		return VALUES_NONE;
	}
	facts->values++;
	facts->bytes += bytes;
	facts->longest = bytes > facts->longest ? bytes : facts->longest;
	if (rows->is_number[c])
		count_number(facts, rows->number[c], rows->is_whole[c], split == TEXTS_TRAIN);
	else if (!*facts->text)
		(void)snprintf(facts->text, sizeof(facts->text), "%s", text);
	if (!rows->values[c])
		return VALUES_NONE;
	/* The rest of the block is not listed either: read.c sees that there are too many. */
	if (values_count(rows->values[c]) > rows->table->categories)
		return VALUES_NONE;
	return values_add(rows->values[c], text, bytes, split == TEXTS_TRAIN);
}

/* Appends a value to the row at the end of `data`, which has room for it. */
static void store_value(struct parsed *rows, uint32_t c, uint64_t *at)
{
	uint64_t bytes;
	const char *text = value_of(rows, c, &bytes);

	if (rows->table->column[c].dropped)
		return;
	if (rows->is_missing[c])
		bytes = 0;
	memcpy(rows->data + *at, text, bytes);
	rows->data[*at + bytes] = '\0';
	*at += bytes + 1;
}

static bool store(struct parsed *rows, enum texts_split split, uint64_t key)
{
	const uint64_t most = sizeof(struct spill_row) + rows->field_used + ROW_ALIGN;
	struct spill_row *row;
	uint64_t at = rows->used + sizeof(*row), end;

	if (!reserve(&rows->data, rows->used, most, &rows->capacity))
		return false;
	for (uint32_t c = 0; c < rows->table->columns; c++)
		store_value(rows, c, &at);
	end = (at + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
	memset(rows->data + at, 0, end - at);
	row = (struct spill_row *)(rows->data + rows->used);
	*row = (struct spill_row){ .bytes = (uint32_t)(end - rows->used), .split = split, .key = key };
	rows->used = end;
	rows->count++;
	rows->rows[split]++;
	return true;
}

/* Replaces a value by the first digits of its SHA-256. */
static bool hash_value(struct parsed *rows, uint32_t c)
{
	char hex[DIGEST_HEX_BYTES];
	uint64_t bytes;
	const char *text = value_of(rows, c, &bytes);
	const int64_t more = (int64_t)HASH_DIGITS - (int64_t)bytes;
	const uint64_t behind = rows->at[c] + bytes + 1;

	digest_sha256(text, bytes, hex);
	if (!reserve(&rows->field, rows->field_used, HASH_DIGITS, &rows->field_capacity))
		return false;
	memmove(rows->field + behind + more, rows->field + behind, rows->field_used - behind);
	memcpy(rows->field + rows->at[c], hex, HASH_DIGITS);
	rows->field[rows->at[c] + HASH_DIGITS] = '\0';
	rows->field_used = (uint64_t)((int64_t)rows->field_used + more);
	for (uint32_t next = c + 1; next < rows->fields; next++)
		rows->at[next] = (uint64_t)((int64_t)rows->at[next] + more);
	rows->is_number[c] = false;
	return true;
}

static bool hash_values(struct parsed *rows)
{
	for (uint32_t c = 0; c < rows->table->columns; c++)
		if (rows->table->column[c].hashed && !rows->is_missing[c] && !hash_value(rows, c))
			return false;
	return true;
}

/* Returns how many rows with this label the block has before this one. */
static uint64_t labelled_before(const struct parsed *rows, const char *label, uint64_t bytes)
{
	const uint32_t number = values_add(rows->labels, label, bytes, 1);

	return number == VALUES_NONE ? 0 : values_rows(rows->labels, number) - 1;
}

/* Gathers what the split depends on: values as they are in the input. */
static enum texts_split split_row(const struct parsed *rows, uint64_t key)
{
	const struct table *table = rows->table;
	struct split_row row = { .key = key, .is_test = rows->is_test, .number = NAN };
	uint64_t bytes;

	if (table->split_by != TABLE_NO_COLUMN && !rows->is_missing[table->split_by])
		row.group = value_of(rows, table->split_by, &row.group_bytes);
	if (table->date != TABLE_NO_COLUMN && !rows->is_missing[table->date])
		row.date = value_of(rows, table->date, &bytes);
	if (row.date && !number_parse(row.date, bytes, &row.number, &(bool){ false }))
		row.number = NAN;
	if (table->stratify) {
		row.label = value_of(rows, table->label, &row.label_bytes);
		row.before = labelled_before(rows, row.label, row.label_bytes);
	}
	row.block = rows->block;
	return split_choose(table, &row);
}

void parsed_end_row(struct parsed *rows)
{
	enum texts_split split;
	uint64_t key;

	if (rows->fields == 0 || rows->failed || !check_row(rows)) {
		parsed_drop_row(rows);
		return;
	}
	key = split_key(rows->table->seed, rows->block, rows->count);
	split = split_row(rows, key);
	if (!hash_values(rows)) {
		rows->failed = true;
		return;
	}
	for (uint32_t c = 0; c < rows->table->columns; c++)
		if (!rows->table->column[c].dropped)
			(void)count_value(rows, c, split);
	if (!store(rows, split, key))
		rows->failed = true;
	parsed_drop_row(rows);
}
