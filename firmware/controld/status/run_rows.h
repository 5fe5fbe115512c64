/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of run.list. A row is made from the text of a run.json; to read and parse the records of all
 * archived runs takes 3 ms. A record in the archive seldom changes, so its row is kept until one of its files
 * is replaced.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"

#include <sys/types.h>
#include <time.h>

struct run_rows {
	/* newest first; at most RUN_ARCHIVES_MAX, and one more that is being added */
	struct run_row {
		char id[RUN_ID_BYTES];
		/* state and run.json: a file that is replaced has another inode or time */
		struct run_row_file {
			ino_t inode;
			struct timespec time;
		} state, record;
		cJSON *row; /* NULL = not made yet */
	} of[RUN_ARCHIVES_MAX + 1];
	size_t count;
};

/* Makes a row from the text of a run.json. A damaged record gives a row that says what is wrong; `text` NULL:
 * `why` says it. */
cJSON *run_row(const char *id, const char *text, const struct error *why);

/* Lists the archive, and reads the records that are new or were changed since the last call. */
void run_rows_read(struct run_rows *rows);
void run_rows_done(struct run_rows *rows);
