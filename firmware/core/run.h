/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run record: PATH_RUN/{run.json,state,want,config,plan} *is* the run. One module reads and writes it, under a lock,
 * by temporary name, fsync, rename and fsync of the directory.
 *
 * Order: run_begin (kiln-oneshot begin) -> run_load by every program -> run_state_set by traind -> next run_begin
 * archives a final record under PATH_ARCHIVE/<id>, 30 kept.
 */
#pragma once

#include "core/config.h"
#include "core/error.h"

#define RUN_ID_BYTES     96u
#define RUN_ARCHIVES_MAX 30u

enum run_state {
	RUN_RUNNING,
	RUN_PAUSED,
	RUN_STOPPING,
	RUN_STOPPED,
	RUN_EXPIRED,  /* unfinished up to here: begin adopts them */
	RUN_FINISHED, /* final from here: begin makes a new run */
	RUN_FAILED,
	RUN_STATE_MAX,
};

struct run {
	char id[RUN_ID_BYTES]; /* <run name>-YYYYMMDD-HHMMSS, UTC */
	enum run_state state;
	int64_t started_s, ends_s; /* Unix time; ends_s 0 = no end */
	int start_from;            /* enum config_start_from */
	char plan_sha256[65];      /* "" until fetchd fixed the plan */
	struct config config;      /* the frozen copy */
};

const char *run_state_name(enum run_state state);

/* Adopt the unfinished record, or archive a final one and make a new run with a frozen copy of the file at
 * `config_file`. *ret_adopted tells which. The run comes out loaded. */
MUST_CHECK int run_begin(const char *config_file, struct run *ret_run, bool *ret_adopted, struct error *err);

/* The current run. Errors: -ENOENT none; -EBADMSG a torn or wrong record. */
MUST_CHECK int run_load(struct run *ret_run, struct error *err);
void run_done(struct run *run);

MUST_CHECK int run_state_get(enum run_state *ret_state, struct error *err);
MUST_CHECK int run_state_set(enum run_state state, struct error *err);
MUST_CHECK int run_plan_set(const char sha256_hex[static 65], struct error *err);

/* Add or replace top-level members of run.json from a JSON object's text (final metrics, device, ...). */
MUST_CHECK int run_note(const char *json_object, struct error *err);

/* run.json's text; the caller frees. */
MUST_CHECK int run_json(char **ret_text, struct error *err);
