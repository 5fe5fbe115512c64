/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a new table, for a trained model: CSV and TSV with a header, or JSON lines, compressed or not.
 * The rows are read as kiln prep reads them, one after the other, in the memory of a few rows.
 */
#pragma once

#include "core/config/config.h"
#include "trained/rows.h"

/* Opens an input as input_open() does. Its name says the format, or else its first byte: JSON lines begin
 * with {, all other inputs are CSV. Owns: the caller calls table_rows_close(). Errors: those of input_open();
 * -EBADMSG a wrong header. */
MUST_CHECK int table_rows_open(const struct config_store *where, const char *name, struct rows **ret_rows,
			       struct error *err);
void table_rows_close(struct rows *rows);
