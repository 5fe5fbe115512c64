/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-uploadd's parts: main.c goes over the runs in the spool, upload.c brings one run's files to the store,
 * checkpoints.c the checkpoints among them, retain.c decides which checkpoints stay, watch.c sleeps until
 * there is something new.
 *
 * A kill anywhere costs nothing but the work since: objects appear whole or not at all, latest.json moves
 * only behind an object that was verified, and a file of the spool is removed only behind that.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"
#include "core/run/spool.h"
#include "drivers/notify/alive.h"
#include "drivers/store/store.h"

#define UPLOAD_LATEST "checkpoints/latest.json"

/* A file of the spool that is in the store as far as `bytes`. */
struct uploaded {
	char name[SPOOL_NAME_BYTES];
	uint64_t bytes, at_us;
};

struct steps {
	uint64_t *step;
	uint32_t count, room;
};

/* One run on its way to the store. */
struct upload {
	struct run run;
	bool archived;       /* begin has put its record into the archive */
	struct store *store; /* <sink>/<run id>: keys are the spool's names */
	struct uploaded *file;
	uint32_t files, files_room;
	struct steps stored; /* checkpoints in the store */
	bool any_latest;
	uint64_t latest; /* the step that latest.json names */
	bool any_best;
	uint64_t best;        /* the step of the best validation pass so far */
	uint64_t retries;     /* of the store's counters, as last said */
	char *record;         /* run.json as it was uploaded last */
	uint64_t warned_step; /* the damaged checkpoint that was warned of */
};

/* The longest that a pass may say nothing: a write of the slowest disk. */
#define UPLOAD_QUIET_S 300u

/* Takes the run over. Aborts what an earlier process left unfinished. `worker` gets its lease renewed while
 * the store is waited for. */
MUST_CHECK int upload_open(struct upload *upload, struct run *run, bool archived, struct alive_worker *worker,
			   struct error *err);
void upload_close(struct upload *upload);

/* Everything that is new goes to the store. *ret_complete: the run is final, all of it is in the store, and
 * its folder in the spool is gone. */
MUST_CHECK int upload_pass(struct upload *upload, bool *ret_complete, struct error *err);

/* While the store is away: the spool of the current run keeps what the store is to have, no more. */
MUST_CHECK int upload_trim_spool(struct error *err);

/* checkpoints.c: what latest.json and the store say now. */
MUST_CHECK int checkpoints_find(struct upload *upload, struct error *err);
/* Upload what is wanted of `local`, newest first, verify, move latest.json; then retain_apply(). Damaged ones
 * leave `local`. */
MUST_CHECK int checkpoints_upload(struct upload *upload, struct steps *local, struct error *err);

/* upload.c: put a file of the spool, and look at what the store has then. -ENOENT with *ret_gone: the file
 * went away meanwhile. */
MUST_CHECK int upload_file(struct upload *upload, const char *name, char *ret_sha256_hex, uint64_t *ret_bytes,
			   bool *ret_gone, struct error *err);

/* retain.c */
MUST_CHECK int steps_add(struct steps *steps, uint64_t step, struct error *err);
void steps_remove(struct steps *steps, uint64_t step);
bool steps_has(const struct steps *steps, uint64_t step);
/* The step of the best epoch by keep_best.monitor; without that, with the highest validation accuracy, then
 * the lowest validation loss. Then the first. */
void retain_find_best(struct upload *upload, const cJSON *record);
/* Whether a checkpoint is to be in the store: one of the newest checkpoint.keep of those in the spool
 * (`local`) and the store, or the best. */
bool retain_wants(const struct upload *upload, const struct steps *local, uint64_t step);
/* Delete what is not wanted from the store, and trim the spool. */
MUST_CHECK int retain_apply(struct upload *upload, const struct steps *local, struct error *err);
/* Delete from the spool what has two newer ones beside it and is in the store or not wanted there. */
MUST_CHECK int retain_trim_spool(const struct upload *upload, const struct steps *local, struct error *err);

/* watch.c */
struct watch {
	int fd;
};
MUST_CHECK int watch_open(struct watch *watch, struct error *err);
/* Watch the record and the folders of this run too. */
void watch_run(struct watch *watch, const char *run_id);
/* Sleep until something changed, at most `timeout_ms`. */
void watch_wait(struct watch *watch, int timeout_ms);
