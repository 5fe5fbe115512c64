/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/csv.h"

#include <string.h>

#define OPTIONS (CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL)

char csv_delimiter(enum table_format format)
{
	return format == TABLE_TSV ? '\t' : ',';
}

/* ---- Where rows end ---- */

/* Tells whether the quote at data[at], outside quotes, opens a value. */
static bool opens(const char *data, uint64_t at, char delimiter)
{
	while (at > 0 && data[at - 1] == ' ')
		at--;
	return at == 0 || data[at - 1] == delimiter || data[at - 1] == '\n' || data[at - 1] == '\r';
}

/* Returns the offset behind the quote that closes a value, or `bytes` where it is not there. */
static uint64_t close_value(const char *data, uint64_t at, uint64_t bytes)
{
	for (;;) {
		const char *quote = memchr(data + at, '"', bytes - at);

		at = quote ? (uint64_t)(quote - data) + 1 : bytes;
		if (at >= bytes || data[at] != '"')
			return at;
		at++;
	}
}

/* Returns the end of the last row or, with `first`, of the first one; 0: there is no whole row. */
static uint64_t row_end(const char *data, uint64_t bytes, char delimiter, bool first)
{
	uint64_t at = 0, end = 0;

	while (at < bytes) {
		const char *quote = memchr(data + at, '"', bytes - at), *newline;
		const uint64_t stop = quote ? (uint64_t)(quote - data) : bytes;

		newline = first ? memchr(data + at, '\n', stop - at) : memrchr(data + at, '\n', stop - at);
		if (newline)
			end = (uint64_t)(newline - data) + 1;
		if ((first && newline) || !quote)
			return end;
		at = stop + 1;
		if (opens(data, stop, delimiter))
			at = close_value(data, at, bytes);
	}
	return end;
}

uint64_t csv_whole_rows(const char *data, uint64_t bytes, char delimiter)
{
	return row_end(data, bytes, delimiter, false);
}

/* ---- Rows ---- */

static int is_space(unsigned char c)
{
	return c == ' ';
}

struct parsing {
	struct parsed *rows;
	uint64_t line; /* lines that ended, and line ends in the values of the row */
};

static void on_field(void *field, size_t bytes, void *context)
{
	struct parsing *parsing = context;

	for (const char *at = field, *end = at + bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++)
		parsing->line++;
	parsed_field(parsing->rows, field, bytes);
}

/* libcsv calls this for each CR and LF outside quotes, and once at the end with -1. */
static void on_line_end(int end, void *context)
{
	struct parsing *parsing = context;

	parsed_end_row(parsing->rows);
	parsing->line += end == '\n';
	parsed_begin_row(parsing->rows, parsing->line);
}

int csv_open(struct csv_parser *parser, enum table_format format, struct error *err)
{
	if (csv_init(parser, OPTIONS) != 0)
		return error_set(err, -ENOMEM, "no memory for a parser of CSV");
	csv_set_delim(parser, (unsigned char)csv_delimiter(format));
	csv_set_space_func(parser, is_space);
	return 0;
}

/* Returns how many bytes were parsed; fewer than `bytes` where a row is wrong. *ret_open: the bytes end in
 * the middle of a value. */
static uint64_t parse_some(struct csv_parser *parser, struct parsing *parsing, const char *data,
			   uint64_t bytes, bool *ret_open)
{
	const uint64_t done = csv_parse(parser, data, bytes, on_field, on_line_end, parsing);

	*ret_open = done == bytes && csv_fini(parser, on_field, on_line_end, parsing) != 0;
	return done;
}

static uint64_t lines_in(const char *data, uint64_t bytes)
{
	uint64_t lines = 0;

	for (const char *at = data; (at = memchr(at, '\n', (size_t)(data + bytes - at))); at++)
		lines++;
	return lines;
}

/* Goes on behind the line with a wrong quote at data[at]. Returns its end. */
static uint64_t skip_wrong(struct parsing *parsing, const char *data, uint64_t at, uint64_t bytes)
{
	const char *newline = memchr(data + at, '\n', bytes - at);
	const uint64_t end = newline ? (uint64_t)(newline - data) + 1 : bytes;

	parsed_bad(parsing->rows, "%s", ": " CSV_WRONG_QUOTE);
	parsing->line = lines_in(data, end);
	parsed_begin_row(parsing->rows, parsing->line);
	return end;
}

int csv_parse_block(struct parsed *rows, const char *data, uint64_t bytes, struct error *err)
{
	struct parsing parsing = { .rows = rows };
	uint64_t at = 0;

	parsed_begin_row(rows, 0);
	while (at < bytes && parsed_go_on(rows)) {
		struct csv_parser parser;
		bool open;
		int r = csv_open(&parser, rows->table->format, err);

		if (r < 0)
			return r;
		at += parse_some(&parser, &parsing, data + at, bytes - at, &open);
		csv_free(&parser);
		if (open)
			parsed_bad(rows, "%s", ": " CSV_OPEN_QUOTE);
		if (at < bytes)
			at = skip_wrong(&parsing, data, at, bytes);
	}
	rows->lines = lines_in(data, bytes);
	return rows->failed ? error_set(err, -ENOMEM, "no memory for the rows of a block") : 0;
}

/* ---- Headers ---- */

struct head {
	char *name[TABLE_COLUMNS_MAX];
	uint32_t names;
	uint64_t lines;
};

static void head_done(struct head *head)
{
	for (uint32_t i = 0; i < head->names; i++)
		free(head->name[i]);
}

static void on_name(void *field, size_t bytes, void *context)
{
	struct head *head = context;

	if (head->names < TABLE_COLUMNS_MAX && (head->name[head->names] = strndup(field, bytes)))
		head->names++;
}

static void on_head_end(int end, void *context)
{
	struct head *head = context;

	head->lines += end == '\n';
}

static int read_head(enum table_format format, const char *what, const char *data, uint64_t bytes,
		     struct head *head, struct error *err)
{
	struct csv_parser parser;
	int r = csv_open(&parser, format, err);

	if (r < 0)
		return r;
	if (csv_parse(&parser, data, bytes, on_name, on_head_end, head) != bytes ||
	    csv_fini(&parser, on_name, on_head_end, head) != 0)
		r = error_set(err, -EBADMSG, "%s: line 1: a wrong quote in the names of the columns", what);
	csv_free(&parser);
	if (r == 0 && head->names == 0)
		r = error_set(err, -EBADMSG, "%s: line 1: found no name of a column", what);
	return r;
}

static int compare_head(const struct table *table, const char *what, const struct head *head,
			struct error *err)
{
	if (head->names != table->columns)
		return error_set(err, -EBADMSG, "%s: line 1: found %u columns, %s has %u", what, head->names,
				 table->input[0], table->columns);
	for (uint32_t c = 0; c < head->names; c++)
		if (strcmp(head->name[c], table->column[c].name) != 0)
			return error_set(err, -EBADMSG,
					 "%s: line 1: found the column \"%s\", expected \"%s\" as in %s",
					 what, head->name[c], table->column[c].name, table->input[0]);
	return 0;
}

int csv_header(struct table *table, const char *name, const char *data, uint64_t bytes, uint64_t *ret_bytes,
	       uint64_t *ret_lines, struct error *err)
{
	CLEANUP(head_done) struct head head = { 0 };
	const uint64_t end = row_end(data, bytes, csv_delimiter(table->format), true);
	int r;

	*ret_bytes = end ? end : bytes;
	if ((r = read_head(table->format, name, data, *ret_bytes, &head, err)) < 0)
		return r;
	*ret_lines = head.lines;
	return table->columns ? compare_head(table, name, &head, err)
			      : table_name_columns(table, name, head.name, head.names, err);
}

int csv_columns_said(struct table *table, struct error *err)
{
	CLEANUP(head_done) struct head head = { 0 };
	int r = read_head(TABLE_CSV, "--columns", table->columns_said, strlen(table->columns_said), &head,
			  err);

	return r < 0 ? r : table_name_columns(table, "--columns", head.name, head.names, err);
}
