/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/rows.h"

#include "cli/table/csv.h"
#include "cli/table/input.h"
#include "core/base/utf8.h"
#include "trained/lines.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_BYTES (1u << 16)

/* A row that is parsed, and not yet given to the caller. */
struct ready {
	cJSON *object;
	uint64_t line;
};

struct table_rows {
	struct rows rows;
	struct input *input;
	FILE *file;         /* the bytes of `input` */
	struct lines lines; /* the source as JSON lines */
	/* ---- CSV ---- */
	struct csv_parser parser;
	bool parsing, ended;
	char *name[TABLE_COLUMNS_MAX];
	bool unread[TABLE_COLUMNS_MAX];
	uint64_t line, began; /* lines that ended; the line in which the row began */
	uint32_t fields;      /* how many fields the row has so far */
	cJSON *object;        /* the row; NULL: the header */
	struct ready *ready;
	size_t count, given, capacity;
	uint64_t open_bytes; /* bytes that were read since a row ended */
	struct error err;    /* the first; it comes behind the rows that are ready */
};

/* ---- The parser's calls ---- */

static void fail(struct table_rows *table, int code, const char *text)
{
	if (!table->err.code)
		(void)error_set(&table->err, code, "%s: line %" PRIu64 ": %s", table->rows.source,
				table->began + 1, text);
}

static void add_name(struct table_rows *table, const char *text, size_t bytes)
{
	char *name, words[128];

	if (table->rows.names == TABLE_COLUMNS_MAX) {
		(void)snprintf(words, sizeof(words), "found more than %u columns", TABLE_COLUMNS_MAX);
		fail(table, -EBADMSG, words);
		return;
	}
	name = strndup(bytes ? text : "", bytes);
	if (!name) {
		fail(table, -ENOMEM, "no memory for the names of the columns");
		return;
	}
	for (uint32_t i = 0; i < table->rows.names; i++)
		if (strcmp(table->name[i], name) == 0) {
			(void)snprintf(words, sizeof(words),
				       "column %u: found \"%.60s\", which is there already",
				       table->rows.names + 1, name);
			fail(table, -EBADMSG, words);
		}
	table->name[table->rows.names++] = name;
}

static void add_value(struct table_rows *table, const char *text, size_t bytes)
{
	const uint32_t column = table->fields++;
	char *copy;

	if (column >= table->rows.names || table->unread[column])
		return;
	copy = strndup(bytes ? text : "", bytes);
	if (copy && (strlen(copy) < bytes || utf8_valid_bytes(copy, bytes) < bytes))
		fail(table, -EBADMSG, "found a value that is not UTF-8");
	if (!copy || !cJSON_AddStringToObject(table->object, table->name[column], copy))
		fail(table, -ENOMEM, "no memory for a row");
	free(copy);
}

static void on_field(void *field, size_t bytes, void *context)
{
	struct table_rows *table = context;

	for (const char *at = field, *end = at + bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++)
		table->line++;
	if (table->object)
		add_value(table, field, bytes);
	else
		add_name(table, field, bytes);
}

static void keep_row(struct table_rows *table)
{
	if (table->count == table->capacity) {
		const size_t capacity = table->capacity ? 2 * table->capacity : 64;
		struct ready *grown = realloc(table->ready, capacity * sizeof(*grown));

		if (!grown) {
			fail(table, -ENOMEM, "no memory for rows");
			return;
		}
		table->ready = grown;
		table->capacity = capacity;
	}
	table->ready[table->count++] = (struct ready){ TAKE(table->object), table->began + 1 };
}

static void end_row(struct table_rows *table)
{
	char text[96];

	if (table->object && table->fields != table->rows.names) {
		(void)snprintf(text, sizeof(text), "found %u values, expected %u as there are columns",
			       table->fields, table->rows.names);
		fail(table, -EBADMSG, text);
	}
	if (table->object && !table->err.code)
		keep_row(table);
	json_free(&table->object);
	table->object = cJSON_CreateObject();
	if (!table->object)
		fail(table, -ENOMEM, "no memory for a row");
	table->fields = 0;
	table->open_bytes = 0;
}

/* libcsv calls this for each CR and LF outside quotes, and once at the end with -1. */
static void on_line_end(int end, void *context)
{
	struct table_rows *table = context;

	if (!table->err.code && (table->object ? table->fields : table->rows.names))
		end_row(table);
	table->line += end == '\n';
	table->began = table->line;
}

/* ---- CSV ---- */

/* Parses some bytes; at the end of the input, the rest. Errors lie in table->err. */
static void parse(struct table_rows *table, const char *data, size_t bytes)
{
	table->ended = bytes == 0;
	if (table->err.code)
		return;
	if (table->ended && csv_fini(&table->parser, on_field, on_line_end, table) != 0)
		fail(table, -EBADMSG, CSV_OPEN_QUOTE);
	else if (csv_parse(&table->parser, data, bytes, on_field, on_line_end, table) != bytes)
		fail(table, -EBADMSG, CSV_WRONG_QUOTE);
}

static int next_of_csv(struct rows *rows, cJSON **ret_row, uint64_t *ret_line, struct error *err)
{
	struct table_rows *table = (struct table_rows *)rows;
	char piece[PIECE_BYTES];

	if (table->given == table->count)
		table->given = table->count = 0;
	while (table->count == 0 && !table->ended && !table->err.code)
		parse(table, piece, fread(piece, 1, sizeof(piece), table->file));
	if (table->given < table->count) {
		*ret_line = table->ready[table->given].line;
		*ret_row = table->ready[table->given++].object;
		return 1;
	}
	if (table->err.code)
		*err = table->err;
	return table->err.code;
}

/* Parses the header alone, a byte at a time: the columns that are not read are known before the first row. */
static void parse_header(struct table_rows *table)
{
	char piece[4];
	size_t bytes = fread(piece, 1, 1, table->file);

	if (bytes && piece[0] == '\xef') /* the first byte of a byte order mark */
		bytes += fread(piece + 1, 1, 2, table->file);
	if (utf8_mark(piece, bytes))
		bytes = fread(piece, 1, 1, table->file);
	while (!table->object && !table->ended && !table->err.code) {
		parse(table, piece, bytes);
		if (!table->object)
			bytes = fread(piece, 1, 1, table->file);
	}
	if (!table->object)
		fail(table, -EBADMSG, "found no names of columns");
}

static int open_csv(struct table_rows *table, enum table_format format, struct error *err)
{
	int r = csv_open(&table->parser, format, err);

	if (r < 0)
		return r;
	table->parsing = true;
	table->rows.next = next_of_csv;
	table->rows.name = table->name;
	table->rows.unread = table->unread;
	parse_header(table);
	if (table->err.code)
		*err = table->err;
	return table->err.code;
}

/* ---- JSON lines ---- */

/* An empty line is no row, as for kiln prep; its end may be CR and LF. */
static bool is_empty(const struct lines *lines)
{
	return lines->bytes == 0 || strcmp(lines->text, "\r") == 0;
}

static int next_of_lines(struct rows *rows, cJSON **ret_row, uint64_t *ret_line, struct error *err)
{
	struct table_rows *table = (struct table_rows *)rows;
	bool found;

	do {
		table->began = table->lines.number;
		table->open_bytes = 0;
		found = lines_next(&table->lines);
	} while (found && is_empty(&table->lines) && !table->err.code);
	/* A line that could not be read to its end is there in part. */
	if (table->err.code)
		*err = table->err;
	if (table->err.code || !found)
		return table->err.code;
	*ret_line = table->lines.number;
	return lines_object(&table->lines, ret_row, err) < 0 ? error_prefix(err, "%s", rows->source) : 1;
}

/* ---- Open and close ---- */

static void fail_too_long(struct table_rows *table)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "found a row of more than %u bytes, expected fewer%s",
		       TABLE_BLOCK_BYTES, table->parsing ? "; is a quote not closed?" : "");
	fail(table, -EBADMSG, text);
}

/* A row is never longer in memory than TABLE_BLOCK_BYTES and what is read at once. */
static ssize_t read_input(void *context, char *data, size_t bytes)
{
	struct table_rows *table = context;
	struct error err = { 0 };
	uint64_t done = 0;

	if (table->open_bytes > TABLE_BLOCK_BYTES) {
		fail_too_long(table);
		return -1;
	}
	if (input_read(table->input, data, bytes, &done, &err) == 0) {
		table->open_bytes += done;
		return (ssize_t)done;
	}
	if (!table->err.code)
		table->err = err;
	return -1;
}

int table_rows_open(const struct config_store *where, const char *name, struct rows **ret_rows,
		    struct error *err)
{
	struct table_rows *table = calloc(1, sizeof(*table));
	int format = table_format_of(name), first, r;

	if (!table)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	*ret_rows = &table->rows;
	table->rows.source = strcmp(name, "-") == 0 ? "standard input" : name;
	if ((r = input_open(where, name, &table->input, err)) < 0)
		return r;
	table->file = fopencookie(table, "r", (cookie_io_functions_t){ .read = read_input });
	if (!table->file)
		return error_set(err, -ENOMEM, "%s: no memory", name);
	first = fgetc(table->file);
	(void)ungetc(first, table->file);
	if (format < 0)
		format = first == '{' || first == EOF ? TABLE_LINES : TABLE_CSV;
	if (format != TABLE_LINES)
		return open_csv(table, (enum table_format)format, err);
	table->lines.file = table->file;
	table->rows.next = next_of_lines;
	return 0;
}

void table_rows_close(struct rows *rows)
{
	struct table_rows *table = (struct table_rows *)rows;

	if (!table)
		return;
	while (table->given < table->count)
		cJSON_Delete(table->ready[table->given++].object);
	free(table->ready);
	json_free(&table->object);
	for (uint32_t i = 0; i < table->rows.names; i++)
		free(table->name[i]);
	if (table->parsing)
		csv_free(&table->parser);
	lines_done(&table->lines);
	if (table->file)
		(void)fclose(table->file);
	input_close(table->input);
	free(table);
}
