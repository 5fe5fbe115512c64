/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run whose files are being uploaded: what uploadd knows of the store and of the spool. */
#pragma once

#include "core/run/run.h"
#include "core/run/spool.h"
#include "drivers/notify/alive.h"
#include "drivers/store/store.h"
#include "uploadd/steps.h"

/* A file of the spool. `bytes`: its size in the store, UINT64_MAX = the store does not have it. */
struct uploaded {
	char name[SPOOL_NAME_BYTES];
	uint64_t bytes, at_us;
};

struct upload {
	struct run run;
	struct alive_worker *worker; /* renews its lease while the store is waited for */
	bool archived;               /* the run's record is in the archive */
	struct store *store; /* the store <sink>/<run id>; its keys are the names of the files in the spool */
	struct uploaded *file;
	uint32_t files, files_size;
	struct steps stored; /* steps of the checkpoints in the store */
	bool any_latest;
	uint64_t latest; /* the step that latest.json names */
	bool any_best;
	uint64_t best;        /* the step of the best validation pass so far */
	uint64_t retries;     /* number of retries when they were last logged */
	char *record;         /* text of the run.json that was uploaded last */
	uint64_t warned_step; /* 1 + step of the damaged checkpoint of which an event warned; 0 = none */
};
