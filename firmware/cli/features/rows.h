/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a shard, a batch at a time, as an evaluation sees them: decoded on all threads, cut at the
 * centre. Of each shard or object exactly the version that the plan pins is read.
 *
 * Order: rows_open -> (rows_begin -> rows_next* until it returns 0)* -> rows_close. The main thread calls.
 */
#pragma once

#include "cli/features/job.h"
#include "trained/columns.h"

struct rows;

MUST_CHECK int rows_open(const struct job *job, struct rows **ret_rows, struct error *err);
void rows_closep(struct rows **rows); /* for CLEANUP() */

/* Begins a shard. Errors: those of the store; -ESTALE the object has changed since the plan was made. */
MUST_CHECK int rows_begin(struct rows *rows, const struct job_shard *shard, struct error *err);

/* Reads the next batch, which is valid until the next call. Returns the number of its rows; 0 = the shard has
 * ended. A bad record is left out with fetch.bad_record = "skip": its row has no name. Errors: -EBADMSG and
 * others of the parser and the decoder, with shard and record; those of the store. */
MUST_CHECK int rows_next(struct rows *rows, struct error *err);
/* The columns of the batch, and the name of the picture of a row; NULL = the row was left out. */
const struct columns *rows_columns(const struct rows *rows);
const char *rows_name(const struct rows *rows, uint32_t row);
