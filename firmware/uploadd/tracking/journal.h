/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of one run or series that MLflow gets: a file to which lines are only ever added, so that a
 * batch that is sent a second time has the same rows, with the same times, and the server sees no doubles.
 *
 *     {"kind":"step","n":100,"at_ms":1764249600000,"values":{"batch_loss":0.25}}
 *
 * `n` is the step of the metric in MLflow. Of each kind `n` ascends, and a line with an `n` that was there is
 * left out: a trainer that returned to a checkpoint comes to the same steps again, with the same values.
 *
 * Threads: one at a time. Crash: the bytes after the last line end are cut off by the next journal_open().
 */
#pragma once

#include "core/base/json.h"
#include "drivers/mlflow/mlflow.h"

#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_NAME "points"
/* Points by step are left out once the file has so many bytes: a run on a very small step, or a server that
 * nobody repairs, must not fill the disk. Half a million values. */
#define JOURNAL_BYTES_MAX (UINT64_C(16) << 20)
#define JOURNAL_KEY_BYTES 64u

enum journal_kind {
	JOURNAL_STEP,       /* n: the step */
	JOURNAL_TRAIN,      /* n: the epoch, counted from 1 */
	JOURNAL_VALIDATION, /* n: the epoch, counted from 1 */
	JOURNAL_TEST,       /* n: how many epochs are trained; there is one such line at most */
	JOURNAL_TRIAL,      /* n: number of the trial in the series, counted from 1; in any order */
	JOURNAL_KINDS
};

#define JOURNAL_TRIALS 1001u /* TRIALS_MAX, counted from 1 */

struct journal {
	int fd;
	uint64_t bytes;
	uint64_t next[JOURNAL_KINDS]; /* the smallest n that may be added */
	bool trial[JOURNAL_TRIALS];   /* whether the journal has the trial */
	bool added;                   /* a line was added since the last journal_sync() */
};

/* Opens the journal of a run, and makes it and its folder where they are missing. Errors: -errno of the file;
 * -EBADMSG the file is damaged. */
MUST_CHECK int journal_open(const char *id, struct journal *ret_journal, struct error *err);
void journal_close(struct journal *journal);

/* Tells whether journal_add() would write a line. */
bool journal_wants(const struct journal *journal, enum journal_kind kind, uint64_t n);
/* Adds a line with the numbers of `values`. Does nothing where journal_wants() is false, or where there are
 * no values. Takes `values`. */
MUST_CHECK int journal_add(struct journal *journal, enum journal_kind kind, uint64_t n, int64_t at_ms,
			   cJSON *values, struct error *err);
/* When this returns 0, the lines so far survive a power cut. */
MUST_CHECK int journal_sync(struct journal *journal, struct error *err);

/* A batch of metrics for the server. */
struct journal_batch {
	struct mlflow_metric metric[MLFLOW_METRICS_MAX];
	char key[MLFLOW_METRICS_MAX][JOURNAL_KEY_BYTES];
	uint32_t count;
	uint64_t next; /* offset of the line after the batch */
};
/* Reads whole lines from `offset` on, as many as fit. Count 0: there are none. A journal that is shorter than
 * `offset`, or is missing, has none. Errors: -errno of the file; -EBADMSG. */
MUST_CHECK int journal_read(const char *id, uint64_t offset, struct journal_batch *batch, struct error *err);
