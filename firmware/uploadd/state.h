/* SPDX-License-Identifier: Apache-2.0 */
/* A run on its way to the store: what uploadd knows of the store and of the spool. */
#pragma once

#include "core/run/run.h"
#include "core/run/spool.h"
#include "drivers/store/store.h"
#include "uploadd/steps.h"

/* A file of the spool, of which the store has `bytes` bytes. */
struct uploaded {
	char name[SPOOL_NAME_BYTES];
	uint64_t bytes, at_us;
};

struct upload {
	struct run run;
	bool archived;       /* kiln-begin has put the record into the archive */
	struct store *store; /* <sink>/<run id>: keys are the spool's names */
	struct uploaded *file;
	uint32_t files, files_size;
	struct steps stored; /* checkpoints in the store */
	bool any_latest;
	uint64_t latest; /* the step that latest.json names */
	bool any_best;
	uint64_t best;        /* the step of the best validation pass so far */
	uint64_t retries;     /* the store's count of retries, as logged last */
	char *record;         /* run.json as it was uploaded last */
	uint64_t warned_step; /* the damaged checkpoint that was warned of, plus 1 */
};
