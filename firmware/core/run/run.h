/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run record: PATH_RUN/{run.json,state,want,config,plan} *is* the run. One module reads and writes it,
 * under a lock, by temporary name, fsync, rename and fsync of the directory.
 *
 * run.json holds, from begin: version, id, name, started_s, seed, start_run (the run whose newest checkpoint
 * this one starts with, "" = scratch), weights_sha256 (where it starts with model.weights), kiln_version,
 * config (the frozen text), plan_sha256 (""), "reason" where it failed, or a program of an unfinished one
 * ended for good (kiln-oneshot run-failed, until begin goes on with it), "overrides" {key: value} where
 * run.start asked for other values than kiln.conf's, "machine", the machine-id(5) of the box that works on it
 * (none where that has none, or in older ones), ends_s where run.ends_at is given, "repeats" where it is
 * another run once more (run_repeat()); from fetchd: plan_sha256, order_version; from kiln-oneshot finished:
 * "left_behind" {at_s, files, bytes, names}, what was still in the spool when it no longer waited, until
 * uploadd has it in the store; from traind: "weights" {from, tensors, of, as_initialized, not_used}, what it
 * took of model.weights, "epochs" and "metrics" (an object an epoch {epoch, step, loss, accuracy,
 * validation_loss, validation_accuracy}; {train, validation, test} of the last passes, each {loss, accuracy,
 * rows}; no accuracy where the loss has none), "throttled_s", the seconds that it paused to cool down, where
 * it did, "time" (seconds by stage, traind/stages.c) and "device". In the store it has "state" besides: begin
 * puts it there before the first batch, uploadd again whenever it changed, last when the run is final. So
 * run.json alone is enough to go on on a new disk.
 *
 * A new record is made whole in PATH_RUNS/next (`state` last), then the old one goes to the archive, then
 * `next` becomes `current`. A final one goes there by itself when its night is over: `current` is a link to
 * it from then on, so that it stays the current run, as which everybody reads it, until the next one begins.
 * Whoever finds no current record takes the lock and finishes that, so that a kill anywhere leaves the old
 * record or the new one, and a reader in between sees one of them.
 *
 * Order: run_begin (kiln-oneshot begin) -> run_load by every program -> run_state_set by traind ->
 * run_archive (kiln-oneshot finished) puts a final record under PATH_ARCHIVE/<id>, 30 kept; where nobody did,
 * the next run_begin does.
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
/* In PATH_RUN: the weights that a run with start_from = latest or model.weights begins with. begin brings it,
 * traind reads it while the run has no checkpoint of its own, the archive does without. */
#define RUN_START_FILE "start.safetensors"
/* In PATH_RUN: the run has come to rest and its trainer has ended; kiln-finished.path waits for it. begin and
 * kiln-oneshot finished remove it. */
#define RUN_REST_FILE "finished"
/* In PATH_RUNS: why the last `kiln-oneshot begin` failed, as text; one that succeeds removes it. While it is
 * there `kiln-oneshot unfinished` lets nobody work on the current run. */
#define RUN_UNBEGUN_FILE "unbegun"
/* In PATH_RUNS: a run was asked for, and `kiln-oneshot begin` has neither begun it nor given it up. It alone
 * writes it; whoever asks anew, or stops the run, removes it. */
#define RUN_ASKED_FILE "asked"

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
	int64_t started_s;              /* Unix time */
	int64_t ends_s;                 /* Unix time from which on it rests unfinished; 0 = none */
	char machine[MACHINE_ID_BYTES]; /* whose it is; "" = not known */
	char plan_sha256[65];           /* "" until fetchd fixed the plan */
	char start_run[RUN_ID_BYTES];   /* "" = scratch, or: */
	char weights_sha256[65];        /* of what model.weights names; "" = it does not start with that */
	struct config config;           /* the frozen copy */
};

/* The weights a new run starts with. */
struct run_start {
	const char *run_id; /* whose checkpoint it is; "": model.weights, */
	const char *sha256; /* which have this one; NULL otherwise */
	const char *file;   /* it lies beside the records and is moved into the new one */
};

const char *run_state_name(enum run_state state);
bool run_state_is_final(enum run_state state);

/* Adopt the unfinished record (a stopped or expired one goes on as running), or archive a final one and make
 * a new run with a frozen copy of the file at `config_file`, which is read only then. `last_id` is this
 * node's last run as the store knows it, for a disk without a record; "" = none. The new run starts with
 * `start`, NULL = scratch. *ret_adopted tells which it was.
 * Errors: -EINVAL the configuration; -EBADMSG the record is damaged. */
MUST_CHECK int run_begin(const char *config_file, const char *last_id, const struct run_start *start,
			 struct run *ret_run, bool *ret_adopted, struct error *err);

/* A new run that repeats the one of a run.json: its frozen configuration with the seed, its plan and what it
 * started with, files that become the record's; `start` NULL = scratch. "repeats" names it in the new record.
 * Errors: -EBUSY the current run is unfinished; -EBADMSG the record is damaged. */
MUST_CHECK int run_repeat(const char *json_text, uint64_t bytes, const char *plan, const char *start,
			  struct run *ret_run, struct error *err);

/* The current run, which nobody has seen yet, gets another id: another box has a run of this one. */
MUST_CHECK int run_rename(struct run *run, struct error *err);

/* What a run.json of the store says; ret_run->config stays empty. `what` names it in errors: -EBADMSG. */
MUST_CHECK int run_parse(const char *what, const char *json_text, uint64_t bytes, struct run *ret_run,
			 struct error *err);

/* Make a record from a run.json of the store, on a disk without one. `plan` is a file that becomes the
 * record's plan, NULL = there was none yet; `start` one that becomes its RUN_START_FILE, NULL = it needs
 * none. Call it last: once the record stands, begin adopts it as it is. */
MUST_CHECK int run_restore(const char *json_text, uint64_t bytes, const char *plan, const char *start,
			   struct run *ret_run, struct error *err);

/* The current run. Errors: -ENOENT none; -EBADMSG a damaged record. */
MUST_CHECK int run_load(struct run *ret_run, struct error *err);
void run_done(struct run *run);
/* A run in the archive. -ENOENT: none of this id. */
MUST_CHECK int run_load_archived(const char *id, struct run *ret_run, struct error *err);

MUST_CHECK int run_state_get(enum run_state *ret_state, struct error *err);
/* A final state stays: -EPERM for any other after it. */
MUST_CHECK int run_state_set(enum run_state state, struct error *err);

/* Its night is over: expired, unless somebody has taken it up, or ended it, since `seen` was loaded. */
MUST_CHECK int run_expire(const struct run *seen, bool *ret_expired, struct error *err);

/* A final record goes to the archive and stays the current one. Free when it is there already.
 * Errors: -EPERM it is unfinished. */
MUST_CHECK int run_archive(struct error *err);
bool run_is_archived(void);

/* The trainer's last word: the state is what it stays until somebody begins again. */
MUST_CHECK int run_rest(struct error *err);

/* What the operator wants of the current run, obeyed by traind between steps. Only kiln-controld writes it,
 * whole by rename; a new record has none. `seq` counts the wishes; `checkpoint_seq` the checkpoints that were
 * asked for: traind takes one whenever it differs from the one it saw last. */
struct run_want {
	uint64_t seq, checkpoint_seq;
	enum run_state state; /* RUN_RUNNING, RUN_PAUSED or RUN_STOPPED */
};

/* Without a wish: RUN_RUNNING and zeros. Errors: -EBADMSG damaged. */
MUST_CHECK int run_want_get(struct run_want *ret_want, struct error *err);
MUST_CHECK int run_want_set(const struct run_want *want, struct error *err);

/* A wish to stop that was meant for the night before is over; to pause holds until it is taken back. */
void run_want_forget_stop(void);

/* RUN_ASKED_FILE: since when (Unix time), by which the end of its night is found. -ENOENT: none is asked for.
 * over: it is not any more; `forgotten`: nor is there anything to say of it. */
MUST_CHECK int run_asked_get(int64_t *ret_since_s, struct error *err);
MUST_CHECK int run_asked_set(int64_t since_s, struct error *err);
void run_asked_over(bool forgotten);

/* Add or replace top-level members of run.json from a JSON object's text (plan_sha256, epochs, test, device,
 * ...); null takes one away. */
MUST_CHECK int run_note(const char *json_object, struct error *err);
MUST_CHECK int run_note_archived(const char *id, const char *json_object, struct error *err);

/* run_note() of "reason" alone. */
MUST_CHECK int run_reason_set(const char *reason, struct error *err);

/* run.json's text with the state of now as "state"; the caller frees. Its frozen configuration is the member
 * "config", so that it alone is enough to go on on a new disk. begin uploads it, uploadd again when the run
 * is final. */
MUST_CHECK int run_json(char **ret_text, struct error *err);
MUST_CHECK int run_json_archived(const char *id, char **ret_text, struct error *err);
