/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/lines.h"

#include "core/base/json.h"

#include <string.h>

#define NUMBER_BYTES 64u

/* A line of a block; empty lines are no rows. */
struct line {
	const char *text;
	uint64_t bytes;
	uint64_t number;
};

static bool next_line(const char **at, const char *end, struct line *line)
{
	while (*at < end) {
		const char *newline = memchr(*at, '\n', (size_t)(end - *at));

		line->text = *at;
		line->bytes = (uint64_t)((newline ? newline : end) - *at);
		line->number++;
		*at = newline ? newline + 1 : end;
		if (line->bytes && line->text[line->bytes - 1] == '\r')
			line->bytes--;
		if (line->bytes)
			return true;
	}
	return false;
}

/* ---- The columns ---- */

struct keys {
	char *name[TABLE_COLUMNS_MAX];
	uint32_t names;
};

static void keys_done(struct keys *keys)
{
	for (uint32_t i = 0; i < keys->names; i++)
		free(keys->name[i]);
}

static int add_keys(struct keys *keys, const cJSON *object, struct error *err)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, object) {
		uint32_t i = 0;

		while (i < keys->names && strcmp(keys->name[i], item->string) != 0)
			i++;
		if (i < keys->names)
			continue;
		if (i == TABLE_COLUMNS_MAX)
			return error_set(err, -EBADMSG, "found more than %u keys", TABLE_COLUMNS_MAX);
		if (!(keys->name[i] = strdup(item->string)))
			return error_set(err, -ENOMEM, "no memory for the keys");
		keys->names++;
	}
	return 0;
}

/* A line that is wrong is reported where it is parsed as a row. */
int lines_columns(struct table *table, const char *name, const char *data, uint64_t bytes, struct error *err)
{
	CLEANUP(keys_done) struct keys keys = { 0 };
	const char *at = data;
	struct line line = { 0 };

	while (next_line(&at, data + bytes, &line)) {
		CLEANUP(json_free) cJSON *json = NULL;
		int r = json_parse("", line.text, line.bytes, &json, NULL) < 0 ? 0
									       : add_keys(&keys, json, err);

		if (r < 0)
			return error_prefix(err, "%s: line %ju", name, (uintmax_t)line.number);
	}
	return table_name_columns(table, name, keys.name, keys.names, err);
}

/* ---- Rows ---- */

/* The values of a row, in the order of the columns; NULL is missing. */
struct found {
	const cJSON *item[TABLE_COLUMNS_MAX];
};

/* Returns the column of a key. Most lines have the keys in one order, so that the column is `likely`. */
static uint32_t column_of(const struct table *table, const char *key, uint32_t likely)
{
	if (likely < table->columns && strcmp(table->column[likely].name, key) == 0)
		return likely;
	return table_column_named(table, key);
}

static bool find_values(struct parsed *rows, const cJSON *json, struct found *found)
{
	uint32_t likely = 0;
	const cJSON *item;

	memset(found->item, 0, rows->table->columns * sizeof(const cJSON *));
	cJSON_ArrayForEach(item, json) {
		const uint32_t column = column_of(rows->table, item->string, likely);

		if (column == TABLE_NO_COLUMN) {
			parsed_bad(
				rows,
				", key \"%s\": the first lines do not have it; name all keys with --columns",
				item->string);
			return false;
		}
		if (cJSON_IsArray(item) || cJSON_IsObject(item)) {
			parsed_bad(rows,
				   ", key \"%s\": found %s, expected a text, a number, true, false or null",
				   item->string, cJSON_IsArray(item) ? "a list" : "an object");
			return false;
		}
		found->item[column] = item;
		likely = column + 1;
	}
	return true;
}

static void give_value(struct parsed *rows, const cJSON *item)
{
	char number[NUMBER_BYTES];
	const char *text = "";

	if (cJSON_IsString(item))
		text = item->valuestring;
	else if (cJSON_IsBool(item))
		text = cJSON_IsTrue(item) ? "true" : "false";
	else if (cJSON_IsNumber(item) &&
		 cJSON_PrintPreallocated((cJSON *)(uintptr_t)item, number, sizeof(number), false))
		text = number;
	parsed_field(rows, text, strlen(text));
}

static void parse_line(struct parsed *rows, const struct line *line)
{
	CLEANUP(json_free) cJSON *json = NULL;
	struct error err = { 0 };
	struct found found;

	if (json_parse("", line->text, line->bytes, &json, &err) < 0) {
		parsed_bad(rows, "%s", err.text);
		return;
	}
	if (!cJSON_IsObject(json)) {
		parsed_bad(rows, ": found no JSON object, expected {\"COLUMN\": VALUE, ...}");
		return;
	}
	if (!find_values(rows, json, &found))
		return;
	for (uint32_t c = 0; c < rows->table->columns; c++)
		give_value(rows, found.item[c]);
	parsed_end_row(rows);
}

int lines_parse_block(struct parsed *rows, const char *data, uint64_t bytes, struct error *err)
{
	const char *at = data;
	struct line line = { 0 };

	while (parsed_go_on(rows) && next_line(&at, data + bytes, &line)) {
		parsed_begin_row(rows, line.number - 1);
		parse_line(rows, &line);
	}
	rows->lines = line.number;
	return rows->failed ? error_set(err, -ENOMEM, "no memory for the rows of a block") : 0;
}
