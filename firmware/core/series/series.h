/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a series: the file PATH_RUNS/series/<id>/series.json, and <sink>/series/<id>/series.json. A
 * series is one night, or several, with several trials; each trial is an ordinary run (core/run/run.h).
 *
 *     version, id         id: <run.name>-series-YYYYMMDD-HHMMSS, UTC
 *     machine, root       the box that works on the series, as in run.json; missing where it has no identity
 *     name, state         state: "running", "stopped", "expired" (unfinished), "finished", "failed" (final)
 *     started_s, ended_s  Unix time; ended_s 0: it has not ended
 *     since_s             Unix time at which its present night was asked for
 *     ends_s              Unix time at which series.budget is spent, as known at the last change; 0: there is
 *                         no budget
 *     spent_s, mark       time of work so far, and when it was counted last (oneshot/series/spent.h)
 *     cache_bytes         size of the disk cache of every trial
 *     paused              true: a person paused the series, and each trial that begins is paused, too; else
 *                         missing
 *     slots               how many trials train side by side at most: series.parallel, or fewer where the box
 *                         has fewer devices; as known when its present night began; missing: 1
 *     kiln_version
 *     method              "list", "grid", "random", "halving"
 *     objective           "validation.accuracy" and the like (core/series/objective.h)
 *     direction           "max" or "min"
 *     seed                run.seed of kiln.conf, which the trials are drawn with
 *     config              text of kiln.conf as it was frozen
 *     before              id of the run before the series: with run.start_from = "latest" every trial starts
 *                         with its weights; "" = none
 *     commits             {url: id} of lakefs:// sources: the commit that every trial reads; may be missing
 *     sink_commit         of a lakefs:// sink: the commit at which the branch of every trial begins
 *     reason              why the series failed or ended before all trials; missing where nothing is to tell
 *     trials              [{name, overrides, state, slot, moved, run, rung, rungs, epochs, value, best_epoch,
 *                         curve, reason, started_s, took_s, summary, bytes, rows_per_s}], in the order of
 *                         trials_make()
 *     next                name of the trial that begins or goes on next; missing while one is at work, or set
 *                         by the slot whose trial ended last
 *     winner              name of the best trial; null: the series is not final, or no trial has a value
 *     promotion           null, or {outcome: "promoted", "kept", "refused"; why, ...}
 *     branches_left       of a lakefs:// sink: branches of the series are still to be deleted
 *                         (oneshot/promote/outcome.h); on this disk alone
 *
 * Of a trial: overrides {dotted key: value}; state: "waiting", "running", "parked", "finished", "pruned",
 * "failed"; slot: where it runs (core/base/slot.h), missing = 0; moved: true where it has begun in a slot
 * that is not used any more, or where it could not go on, its run is parked, and it waits for its turn in
 * slot 0, else missing; run: id of its run, "" = none yet; rung: how many rungs it has ended, and rungs the
 * value at the end of each, null where it is NaN; epochs: how many are trained; value: the best value of the
 * objective, or null; best_epoch: its epoch, counted from 1, 0 = none; curve: objective_curve(), missing or
 * empty where it has no value; reason: why it failed or was pruned; summary: members of run_summary(); bytes:
 * read from the store; rows_per_s: while it trained.
 *
 * kiln-oneshot writes series.json, and kiln-controld for kiln start, stop, pause and resume. Each write
 * replaces the whole file, under the lock of the run records. Readers need no lock. A writer holds
 * series_lock() from before it loads the record until it has written it, because the trials of several slots
 * begin and end at the same time; promote, which changes a final record, needs no lock. The lock of the
 * series comes before that of the records. At most one series is unfinished. No threads; no other state.
 *
 * Order: series_create() by kiln-oneshot begin -> series_write() after each change -> a final state.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"

#define SERIES_VERSION  1u
#define SERIES_KEPT_MAX 30u         /* series that a box keeps */
#define SERIES_JSON_MAX (16u << 20) /* bytes of series.json */

/* In PATH_RUNS: asks for the units of the slots from 1 on (oneshot/night/start_slots.h). */
#define SERIES_START_FILE "start-slots"

#define SERIES_BRANCHES_LEFT "branches_left" /* a member of series.json */

/* In the folder of a series: its frozen configuration, which oneshot/series/freeze.h writes from the member
 * "config". */
#define SERIES_CONFIG_FILE "kiln.conf"

enum series_state {
	SERIES_RUNNING,
	SERIES_STOPPED,
	SERIES_EXPIRED,  /* the states up to this one are unfinished: the next begin goes on */
	SERIES_FINISHED, /* the states from this one on are final */
	SERIES_FAILED,
	SERIES_STATE_MAX,
};

enum trial_state {
	TRIAL_WAITING,
	TRIAL_RUNNING,
	TRIAL_PARKED,   /* the states up to this one are unfinished */
	TRIAL_FINISHED, /* the states from this one on are final */
	TRIAL_PRUNED,
	TRIAL_FAILED,
	TRIAL_STATE_MAX,
};

/* How `kiln-oneshot trial-ended` exits where no other trial follows, and with SERIES_EXIT_REST,
 * SERIES_EXIT_OVER or, without --wait, SERIES_EXIT_WAIT `kiln-oneshot begin`; with SERIES_EXIT_MOVE
 * kiln-traind. `kiln run` and systemd (kiln-begin.service, kiln-traind.service) read the code. */
enum series_exit {
	SERIES_EXIT_NONE = 80, /* the run was no trial */
	SERIES_EXIT_REST,      /* the series waits: stopped, or its night is over */
	SERIES_EXIT_OVER,      /* the series has ended */
	SERIES_EXIT_WAIT,      /* nothing to do in this slot, until a trial of another one ends */
	SERIES_EXIT_MOVE,      /* the trial cannot train in this slot, and waits for its turn in slot 0 */
};

const char *series_state_name(enum series_state state);
const char *trial_state_name(enum trial_state state);

/* Returns the path of a file in the folder of a series; for an empty name the folder. */
char *series_file(const char *id, const char *name, char out[static PATH_BYTES]);
/* Returns the path of series.json of a series. */
char *series_path(const char *id, char out[static PATH_BYTES]);
#define SERIES_KEY_BYTES (RUN_ID_BYTES + 32)
/* Returns the key of series.json of a series below sink.url. */
char *series_key(const char *id, char out[static SERIES_KEY_BYTES]);

/* Checks that a text, from the disk or from the store, is a series.json, and parses it. `what`: its name in
 * errors. Errors: -EBADMSG. Owns: the caller deletes *ret_series. */
MUST_CHECK int series_parse(const char *what, const char *text, uint64_t bytes, cJSON **ret_series,
			    struct error *err);
/* Loads a series. Errors: -ENOENT there is no series with this id; -EBADMSG. Owns: the caller deletes
 * *ret_series. */
MUST_CHECK int series_load(const char *id, cJSON **ret_series, struct error *err);
/* Loads the unfinished series. A record that cannot be read is passed over, with a warning in the log.
 * Errors: -ENOENT no series is unfinished. */
MUST_CHECK int series_load_unfinished(cJSON **ret_series, struct error *err);
/* Lists the ids of all series, the oldest first. The caller frees the array. */
MUST_CHECK int series_list(char (**ret_ids)[RUN_ID_BYTES], uint32_t *ret_count, struct error *err);

/* Locks the series for a change: hold the lock from before the load until after the write. Blocks: until no
 * other process holds it. Slot 0's begin holds it over the network when a series begins or comes from the
 * store: no other slot works then. Closing the descriptor unlocks. */
MUST_CHECK int series_lock(int *ret_fd, struct error *err);
/* The same for a program that must not block: waits 2 s at most. Errors: -EBUSY. */
MUST_CHECK int series_lock_soon(int *ret_fd, struct error *err);

/* Makes the record of a new series, with the members that the caller has set, and gives it its version, id,
 * state and started_s. Keeps the newest SERIES_KEPT_MAX series. Errors: -EBUSY a series is unfinished. */
MUST_CHECK int series_create(const char *name, cJSON *series, struct error *err);
/* Replaces the record of a series. Errors: -E2BIG it is larger than SERIES_JSON_MAX, and is not written. */
MUST_CHECK int series_write(const cJSON *series, struct error *err);

/* Gives a series none of whose trials has begun a later id, because another box has a series with the same
 * id.
 */
MUST_CHECK int series_rename(cJSON *series, struct error *err);

/* A person gives the series up while none of its trials is at work: kiln-oneshot ends it. kiln-controld calls
 * this. */
MUST_CHECK int series_give_up(const cJSON *series, struct error *err);
bool series_is_given_up(const cJSON *series);

/* ---- What a record says. The functions take a record that series_parse() has checked. ---- */

const char *series_id(const cJSON *series);
enum series_state series_state_of(const cJSON *series);
bool series_is_final(const cJSON *series);
void series_set_state(cJSON *series, enum series_state state);

/* Returns how many slots work on the series, 1 .. SLOTS_MAX. */
unsigned series_slots(const cJSON *series);
/* Returns how many slots work on the unfinished series; 1 where none is unfinished. */
unsigned series_slots_tonight(void);

/* Asks for the units of the other slots, where several work on the unfinished series: makes
 * SERIES_START_FILE. */
MUST_CHECK int series_ask_slots(struct error *err);
/* The same while slot 0 works. Where the series was stopped, because a service of a slot failed, it goes on.
 * Errors: -EBUSY, as series_lock_soon(). */
MUST_CHECK int series_ask_slots_again(struct error *err);

/* A person pauses the unfinished series, where several slots work on it, or lets it go on: a trial that
 * begins at this moment has no run that can be asked. A new night forgets the pause. Returns 1 where several
 * slots work on one, else 0. Errors: -EBUSY, as series_lock_soon(). */
MUST_CHECK int series_pause(bool paused, struct error *err);
bool series_is_paused(const cJSON *series);
/* Removes the pause from a record that the caller writes. */
void series_forget_pause(cJSON *series);

uint32_t series_trials(const cJSON *series);
cJSON *series_trial(const cJSON *series, uint32_t index);
/* Returns the index of the trial with this name or this run; -1: none. */
int series_find_trial(const cJSON *series, const char *name);
int series_find_run(const cJSON *series, const char *run_id);
enum trial_state trial_state_of(const cJSON *trial);
void trial_set_state(cJSON *trial, enum trial_state state);
/* Returns the slot of a trial that runs. */
unsigned trial_slot(const cJSON *trial);
/* Tells whether a trial runs that was moved to its slot, and waits for its turn there. */
bool trial_is_moved(const cJSON *trial);
/* Tells whether a trial runs in another slot than this one. */
bool series_runs_elsewhere(const cJSON *series, unsigned slot);
/* Returns how many trials are in a state. */
uint32_t series_count(const cJSON *series, enum trial_state state);
/* Tells whether a trial has a run. */
bool series_has_begun(const cJSON *series);

/* Returns the text of a member of a series, a trial or a run.json; "": the object has no such text. The text
 * belongs to the object. */
const char *series_text(const cJSON *object, const char *key);
/* Sets a member of a series or a trial, or replaces it. `item` belongs to the object afterwards; false: no
 * memory. */
bool series_set(cJSON *object, const char *key, cJSON *item);

/* Returns the index of the trial with the best value of the objective, of two equal ones the earlier; -1:
 * none has a value. A NaN loses, and a failed trial does not count. `finished`: only trials that have
 * finished count, because a pruned one has no model. */
int series_best(const cJSON *series, bool finished);

/* Returns the summary of a series for a list: {id, name, state, method, objective, direction, started_s,
 * ended_s, ends_s, trials, waiting, running, parked, finished, pruned, failed, now, best, best_value,
 * winner}. now: name of the first trial that runs, else null. The caller frees it. NULL: no memory. */
cJSON *series_summary(const cJSON *series);
