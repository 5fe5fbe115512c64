/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/run: what the programs know of a run: its record (run.h), the spool of files for the store (spool.h),
 * the status pages of the daemons (status.h), and the manifest of shards (manifest.h). No threads; all state
 * lies in files, so that each program may die at any time.
 *
 * The run record. The files PATH_RUN/{run.json,state,want,config,plan} *are* the run. This module alone reads
 * and writes them.
 *
 * Writers: kiln-oneshot begin makes the record; fetchd adds the plan; traind writes the state and its
 * figures; kiln-controld writes `want`; kiln-oneshot finished and run-failed note how the run ended. Writers
 * hold a lock, so that two changes of run.json never overwrite each other. Readers need no lock, because
 * every file is replaced whole (core/base/paths.h). A reader of several files checks afterwards that all of
 * them came from the same record, and otherwise reads again.
 *
 * Why a power cut leaves one record. A new record is made in PATH_RUNS/next, `state` last. Then the old
 * record moves to the archive, then `next` becomes `current`. Between the two renames there is no current
 * record: any program that finds none locks the records and does the second rename. So a kill at any instant
 * leaves the old record or the new one. A final record goes to the archive when its night is over; `current`
 * is then a link to it, so that it stays the current run for all readers until the next run begins.
 *
 * The members of run.json, written by kiln-oneshot begin:
 *
 *   version, id, name, started_s, seed, kiln_version
 *   config           text of the frozen configuration
 *   start_run        run whose newest checkpoint this run starts with; "" = scratch
 *   weights_sha256   of the file that model.weights names, where the run starts with it
 *   plan_sha256      "" until fetchd has made the plan
 *   overrides        {key: value}, where run.start asked for other values than kiln.conf
 *   machine          machine-id(5) of the box that works on the run, where the box has one
 *   ends_s           where run.ends_at is given
 *   repeats          id of the run that this run repeats (run_repeat())
 *
 * by the program that ends the run, or keeps it from going on:
 *   reason           why the run failed or stopped, or why a program of an unfinished run ended for good;
 *                    begin removes it when it goes on with the run
 *
 * by fetchd:
 *   plan_sha256, order_version
 *   manifests        [{bytes, etag, version}], by source: the manifests that the plan was made with
 *   changed          [key]: objects that changed after the plan was made, where the run went on with them
 *
 * by kiln-oneshot finished:
 *   left_behind      {at_s, files, bytes, names}: files still in the spool when the wait for uploads ended;
 *                    uploadd removes the member when the store has the files
 *
 * by traind:
 *   weights          {from, tensors, of, as_initialized, not_used}: what it read from model.weights
 *   epochs           an object for each epoch: {epoch, step, loss, accuracy, validation_loss,
 *                    validation_accuracy}
 *   metrics          {train, validation, test} of the last passes, each {loss, accuracy, rows}; no accuracy
 *                    where the loss has none
 *   quarantine       records that fetch.bad_record = "skip" left out, where there were any
 *   throttled_s      seconds of pauses to cool down, where there were any
 *   time             seconds by stage (traind/stages.c)
 *   device           the OpenCL device
 *
 * In the store run.json has the member `state`, too. begin uploads it before the first batch, uploadd after
 * each change, and for the last time when the run is final. With run.json alone another disk can go on with
 * the run.
 *
 * Order: run_begin (kiln-oneshot begin) -> run_load by every program -> run_state_set by traind ->
 * run_archive (kiln-oneshot finished) moves a final record to PATH_ARCHIVE/<id>, which keeps the newest 30.
 * If that did not happen, the next run_begin archives the record.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/machine.h"
#include "core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

#define RUN_VERSION      1u
#define RUN_ID_BYTES     96u
#define RUN_ARCHIVES_MAX 30u
/* In PATH_RUN: the weights that a run with start_from = latest or model.weights begins with. kiln-oneshot
 * begin downloads the file, traind reads it while the run has no checkpoint of its own, and archiving removes
 * it. */
#define RUN_START_FILE "start.safetensors"
/* In PATH_RUN: exists once the run has stopped or ended and its trainer has ended. kiln-finished.path waits
 * for this file; kiln-oneshot begin and kiln-oneshot finished remove it. */
#define RUN_REST_FILE "finished"
/* In PATH_RUNS: why the last `kiln-oneshot begin` failed, as text; a begin that succeeds removes the file.
 * While the file exists, `kiln-oneshot unfinished` keeps the daemons from working on the current run. */
#define RUN_UNBEGUN_FILE "unbegun"
/* In PATH_RUNS: exists while a run was asked for, and `kiln-oneshot begin` has neither begun it nor given up.
 * begin alone writes the file; a program that asks again, or stops the run, removes it. */
#define RUN_ASKED_FILE "asked"

enum run_state {
	RUN_RUNNING,
	RUN_PAUSED,
	RUN_STOPPING,
	RUN_STOPPED,
	RUN_EXPIRED,  /* up to here the run is unfinished: begin goes on with it */
	RUN_FINISHED, /* from here on the state is final: begin makes a new run */
	RUN_FAILED,
	RUN_STATE_MAX,
};

struct run {
	char id[RUN_ID_BYTES]; /* <run name>-YYYYMMDD-HHMMSS, UTC */
	enum run_state state;
	int64_t started_s;              /* Unix time */
	int64_t ends_s;                 /* Unix time at which an unfinished run stops; 0 = never */
	char machine[MACHINE_ID_BYTES]; /* the machine that works on it; "" = not known */
	char plan_sha256[65];           /* "" until fetchd has made the plan */
	char start_run[RUN_ID_BYTES];   /* the run whose weights it starts with; "" = none */
	char weights_sha256[65];        /* digest of the model.weights that it starts with; "" = none */
	struct config config;           /* the frozen configuration */
};

/* The weights that a new run starts with. */
struct run_start {
	const char *run_id; /* the run whose checkpoint it is; "" = the weights come from model.weights */
	const char *sha256; /* digest of model.weights; NULL for a checkpoint */
	const char *file;   /* path on the file system of the records; it is moved into the new record */
};

const char *run_state_name(enum run_state state);
bool run_state_is_final(enum run_state state);

/* Goes on with the unfinished record, or archives a final record and makes a new run with a frozen copy of
 * the file at `config_file`. A stopped or expired run that goes on is running again, and `config_file` is not
 * read. `last_id` is the last run of this box in the store, for a disk without a record; "" = none. A new run
 * starts with `start`, NULL = scratch. *ret_adopted: the unfinished run goes on. Errors: -EINVAL the
 * configuration; -EBADMSG the record is damaged. */
MUST_CHECK int run_begin(const char *config_file, const char *last_id, const struct run_start *start,
			 struct run *ret_run, bool *ret_adopted, struct error *err);

/* Makes a new run that repeats the run of a run.json, with its frozen configuration, seed, plan and first
 * weights. The files `plan` and `start` are moved into the new record; `start` NULL = scratch. Errors: -EBUSY
 * the current run is unfinished; -EBADMSG the record is damaged. */
MUST_CHECK int run_repeat(const char *json_text, uint64_t bytes, const char *plan, const char *start,
			  struct run *ret_run, struct error *err);

/* Gives the current run another id, because another box has a run of the same id. No other program may have
 * read the old id yet. */
MUST_CHECK int run_rename(struct run *run, struct error *err);

/* Parses a run.json of the store; ret_run->config stays empty. `what` names the text in errors. Errors:
 * -EBADMSG. */
MUST_CHECK int run_parse(const char *what, const char *json_text, uint64_t bytes, struct run *ret_run,
			 struct error *err);

/* Makes a record from a run.json of the store, on a disk without a record. The file `plan` becomes the plan
 * of the record, NULL = the run had no plan yet; the file `start` becomes RUN_START_FILE, NULL = the run
 * needs none. Call it after everything else is restored: begin goes on with a record as soon as it exists. */
MUST_CHECK int run_restore(const char *json_text, uint64_t bytes, const char *plan, const char *start,
			   struct run *ret_run, struct error *err);

/* Loads the current run. Errors: -ENOENT there is none; -EBADMSG a damaged record. */
MUST_CHECK int run_load(struct run *ret_run, struct error *err);
void run_done(struct run *run);
/* Loads a run of the archive. Errors: -ENOENT there is none with this id. */
MUST_CHECK int run_load_archived(const char *id, struct run *ret_run, struct error *err);

MUST_CHECK int run_state_get(enum run_state *ret_state, struct error *err);
/* Sets the state. Errors: -EPERM the state is final already, and another one. */
MUST_CHECK int run_state_set(enum run_state state, struct error *err);

/* Makes the run expired, because its night is over; leaves it as it is where another program has resumed or
 * ended it since `seen` was loaded. */
MUST_CHECK int run_expire(const struct run *seen, bool *ret_expired, struct error *err);

/* Moves a final record to the archive; it stays the current run. Does nothing where the record is archived
 * already. Errors: -EPERM the run is unfinished. */
MUST_CHECK int run_archive(struct error *err);
bool run_is_archived(void);

/* Makes RUN_REST_FILE. The trainer calls it last, when the state will not change until the next begin. */
MUST_CHECK int run_rest(struct error *err);

/* The operator's wish for the current run; traind obeys between steps. Only kiln-controld writes it, whole
 * by rename; a new record has none. `seq` counts the wishes, `checkpoint_seq` the checkpoints that were asked
 * for: traind writes a checkpoint whenever the number differs from the one it saw last. */
struct run_want {
	uint64_t seq, checkpoint_seq;
	enum run_state state; /* RUN_RUNNING, RUN_PAUSED or RUN_STOPPED */
};

/* Loads the wish; without one RUN_RUNNING and zeros. Errors: -EBADMSG a damaged file. */
MUST_CHECK int run_want_get(struct run_want *ret_want, struct error *err);
MUST_CHECK int run_want_set(const struct run_want *want, struct error *err);

/* Removes a wish to stop, which was meant for the night before. A wish to pause holds until the operator
 * resumes. */
void run_want_forget_stop(void);

/* RUN_ASKED_FILE. Its content is the Unix time at which the run was asked for; the end of the night follows
 * from it. run_asked_get(): -ENOENT no run is asked for. run_asked_over() removes the file, and with
 * `forgotten` also RUN_UNBEGUN_FILE. */
MUST_CHECK int run_asked_get(int64_t *ret_since_s, struct error *err);
MUST_CHECK int run_asked_set(int64_t since_s, struct error *err);
void run_asked_over(bool forgotten);

/* Adds or replaces members of run.json with those of a JSON object's text; null removes a member. */
MUST_CHECK int run_note(const char *json_object, struct error *err);
MUST_CHECK int run_note_archived(const char *id, const char *json_object, struct error *err);

/* Sets the member "reason". */
MUST_CHECK int run_reason_set(const char *reason, struct error *err);

/* Return the text of run.json with the current state as the member "state"; the caller frees it. This text is
 * what the store has. */
MUST_CHECK int run_json(char **ret_text, struct error *err);
MUST_CHECK int run_json_archived(const char *id, char **ret_text, struct error *err);
