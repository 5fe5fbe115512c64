/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quarantine list: the records that fetch.bad_record = "skip" left out. kiln-fetchd names a bad record in
 * the slot that would have contained it. A checkpoint holds the list of all slots before its cursor, so the
 * list of a run that was killed also has each record exactly once. Every epoch leaves out the same records.
 *
 * Main thread only. The list stays empty if fetch.bad_record has another value or quarantine_open() was not
 * called.
 */
#pragma once

#include "core/base/json.h"
#include "core/ring/ring.h"
#include "data/plan.h"
#include "model/formats/safetensors.h"

#define QUARANTINE_TENSOR "state/quarantine"
#define QUARANTINE_MAX    256u

struct quarantine_list {
	struct ring_quarantined record[QUARANTINE_MAX];
	uint64_t records;
	/* in the list of one rank, the number of records that its first pass found: record[0 .. first_pass -
	 * 1] */
	uint64_t first_pass;
	uint64_t more; /* number of records left out after the list was full */
};

struct quarantine {
	struct plan *plan; /* NULL: no record is left out, a bad record stops the run */
	struct quarantine_list all;
	bool changed; /* the list has changed since run.json was written */
};

/* If fetch.bad_record is "skip", opens the run's plan at `plan_path`, which fetchd must have written before;
 * otherwise does nothing. */
MUST_CHECK int quarantine_open(struct quarantine *list, const struct config *config, const char *plan_path,
			       struct error *err);
void quarantine_close(struct quarantine *list);

/* Reads the list that a checkpoint holds; `path` names the file in errors. Errors: -EBADMSG. */
MUST_CHECK int quarantine_restore(struct quarantine *list, const char *path, const struct safetensors *file,
				  struct error *err);

/* Adds the records that a slot's column BATCH_COLUMN_QUARANTINE names; `bytes` is the used part of the
 * column, 0 = none. Afterwards the caller sets the model's cursor to that of the slot. Errors: -EUCLEAN the
 * column, which is memory that fetchd can write to, makes no sense. */
MUST_CHECK int quarantine_add(struct quarantine *list, const void *column, uint64_t bytes, bool first_pass,
			      struct error *err);

/* Adds the records that another rank has found since its list was empty. */
void quarantine_merge(struct quarantine *list, const struct quarantine_list *other);

/* Returns {records: [{source, split, shard, key, offset, rest}], more}. source and shard count from 0, shard
 * within the plan's split; `rest` true: everything in the shard from `offset` on is left out. NULL: the list
 * is empty, or no memory. */
cJSON *quarantine_json(const struct quarantine *list);
