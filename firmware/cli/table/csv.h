/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV and TSV by RFC 4180, parsed by libcsv in its strict mode: a value in quotes may have delimiters, line
 * ends and doubled quotes. Line ends are LF or CRLF. Spaces around a value without quotes are left out, and
 * empty lines are no rows. Any thread.
 */
#pragma once

#include "cli/table/parsed.h"

#include <csv.h>

#define CSV_WRONG_QUOTE                                                                                    \
	"found a quote inside a value without quotes, or text behind a closing quote; expected the value " \
	"in quotes, with each quote in it doubled"
#define CSV_OPEN_QUOTE "found no quote that closes a value"

/* Opens a parser with these rules. Owns: the caller calls csv_free(). Errors: -ENOMEM. */
MUST_CHECK int csv_open(struct csv_parser *parser, enum table_format format, struct error *err);

char csv_delimiter(enum table_format format);

/* Returns how many of the bytes, which begin with a row, are whole rows. */
uint64_t csv_whole_rows(const char *data, uint64_t bytes, char delimiter);

/* Takes the names of the columns from the header, or compares the header with them. ret_bytes and ret_lines:
 * how many bytes and lines the header has. Errors: -EBADMSG another header; those of table_name_columns(). */
MUST_CHECK int csv_header(struct table *table, const char *name, const char *data, uint64_t bytes,
			  uint64_t *ret_bytes, uint64_t *ret_lines, struct error *err);
/* Takes the names of the columns from --columns, a row of CSV. */
MUST_CHECK int csv_columns_said(struct table *table, struct error *err);

/* Parses the rows of a block into `rows`. Errors: -ENOMEM. */
MUST_CHECK int csv_parse_block(struct parsed *rows, const char *data, uint64_t bytes, struct error *err);
