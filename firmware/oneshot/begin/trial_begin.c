/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/trial_begin.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "drivers/versions/versions.h"
#include "oneshot/begin/branch.h"
#include "oneshot/begin/commits.h"
#include "oneshot/begin/steps.h"
#include "oneshot/begin/trial.h"
#include "oneshot/series/freeze.h"
#include "oneshot/series/note.h"
#include "oneshot/series/spent.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

/* ---- The lock ---- */

void held_let_go(struct held *held)
{
	close_fd(&held->lock);
	held->lock = -1;
}

void held_done(struct held *held)
{
	held_let_go(held);
	json_free(&held->series);
}

int held_again(struct held *held, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r;

	if ((r = series_lock(&held->lock, err)) < 0 ||
	    (r = series_load(series_id(held->series), &series, err)) < 0)
		return r;
	json_free(&held->series);
	held->series = TAKE(series);
	return 0;
}

/* ---- The trial ---- */

static cJSON *members_of(const cJSON *series, const cJSON *trial, uint64_t rest_after_epoch)
{
	CLEANUP(json_free) cJSON *members = cJSON_CreateObject();
	cJSON *of = cJSON_AddObjectToObject(members, "series");
	const cJSON *overrides = cJSON_GetObjectItemCaseSensitive(trial, "overrides");

	return of && cJSON_AddStringToObject(of, "id", series_id(series)) &&
			       cJSON_AddStringToObject(of, "trial", series_text(trial, "name")) &&
			       cJSON_AddItemToObject(members, "overrides",
						     cJSON_Duplicate(overrides, true)) &&
			       (!rest_after_epoch ||
				json_add_u64(members, "rest_after_epoch", rest_after_epoch))
		       ? TAKE(members)
		       : NULL;
}

/* Tells whether the current run is that of a trial. Returns 1 where it is; 0 where it is another one, or
 * there is none. */
static int is_current(const cJSON *series, uint32_t trial, struct run *ret_run, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	int r = run_load(ret_run, err);

	if (r < 0 || (r = run_record(&record, err)) < 0)
		return r == -ENOENT ? 0 : r;
	return note_find(series, record) == (int)trial;
}

/* Makes sure that run_begin() does not go on with the unfinished run of something else. */
static int check_no_other(const cJSON *series, uint32_t trial, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	int r = is_current(series, trial, &run, err);

	if (r != 0 || !*run.id || run_state_is_final(run.state))
		return r < 0 ? r : 0;
	return error_set(err, -EPERM, "%s is %s, so no other trial begins: let it end, or kiln abandon",
			 run.id, run_state_name(run.state));
}

/* Notes the commits that have been found, or takes those that another slot has noted meanwhile: all trials
 * read the same ones. */
static int note_commits(struct held *held, struct config *config, struct error *err)
{
	int r = held_again(held, err);

	if (r < 0 || (r = commits_note(held->series, config, err)) < 0)
		return r;
	r = series_write(held->series, err);
	held_let_go(held);
	return r;
}

/* Finds which commits the trial reads, and adds its branch to the members. */
static int fix_commits(struct held *held, uint32_t trial, struct config *config, cJSON *members,
		       struct error *err)
{
	bool any = false;
	int r;

	if ((r = commits_of_series(held->series, config, &any, err)) < 0 ||
	    (any && (r = note_commits(held, config, err)) < 0) || (r = commits_add(config, members, err)) < 0)
		return r;
	return branch_of_trial(held->series, series_text(series_trial(held->series, trial), "name"), config,
			       members, err);
}

/* Begins the run of a trial that waits. Each trial starts as if it were the only one: with
 * run.start_from = "latest" from the run before the series. */
static int begin_waiting(struct held *held, const struct next *next, struct run *ret_run, struct error *err)
{
	CLEANUP(json_free)
	cJSON *members = members_of(held->series, series_trial(held->series, next->trial), next->epochs);
	CLEANUP(config_done) struct config config = { 0 };
	struct run before = { 0 };
	char path[PATH_BYTES];
	const struct new_run new = { .file = path, .config = &config, .last = &before, .members = members };
	int r;

	if ((r = check_no_other(held->series, next->trial, err)) < 0 ||
	    (r = freeze_trial(held->series, next->trial, path_of(PATH_SLOT, "next.conf", path), &config,
			      err)) < 0)
		return r;
	if (!members)
		return error_set(err, -ENOMEM, "run.json: no memory");
	if ((r = fix_commits(held, next->trial, &config, members, err)) < 0)
		return r;
	(void)snprintf(before.id, sizeof(before.id), "%s", series_text(held->series, "before"));
	return begin_new(&new, ret_run, err);
}

/* Returns when the budget of the series is spent, by a clock that shows `now_s`; 0 = never. */
static int64_t ends_of(const cJSON *series, const struct config *config, int64_t now_s)
{
	const int64_t left_s = spent_left_s(series, config->series.budget);

	return left_s == INT64_MAX ? 0 : now_s + (left_s > 0 ? left_s : 0);
}

/* Notes which trial this slot takes, before it makes the trial's run: after a crash no other slot takes it.
 */
static int note_taken(cJSON *series, const struct next *next, struct error *err)
{
	cJSON *trial = series_trial(series, next->trial);

	note_state(trial, TRIAL_RUNNING, NULL);
	cJSON_DeleteItemFromObjectCaseSensitive(trial, "moved");
	return series_set(trial, "slot", cJSON_CreateNumber(slot_now()))
		       ? series_write(series, err)
		       : error_set(err, -ENOMEM, "series.json: no memory");
}

static int note_begun(cJSON *series, const struct config *config, const struct next *next,
		      const struct run *run, struct error *err)
{
	cJSON *trial = series_trial(series, next->trial);

	note_next(series, NULL);
	(void)series_set(trial, "run", cJSON_CreateString(run->id));
	(void)series_set(trial, "started_s", cJSON_CreateNumber((double)run->started_s));
	(void)series_set(series, "ends_s", cJSON_CreateNumber((double)ends_of(series, config, time(NULL))));
	return series_write(series, err);
}

/* Notes in which night of the series the run works. */
static int note_night(int64_t since_s, struct error *err)
{
	char note[64];

	(void)snprintf(note, sizeof(note), "{\"night_s\": %" PRId64 "}", since_s);
	return run_note(note, err);
}

/* Begins the run of a trial, or goes on with it: over the network, without the lock. */
static int begin_run(const char *file, struct held *held, const struct next *next, struct set_up *how,
		     struct run *ret_run, struct error *err)
{
	const char *run_id = series_text(series_trial(held->series, next->trial), "run");
	int r;

	how->adopted = *run_id;
	if (!how->adopted)
		r = begin_waiting(held, next, ret_run, err);
	else if ((r = run_unpark(run_id, next->epochs, err)) == -ENOENT)
		r = error_set(err, -EBADMSG, "the record of its run %s is lost", run_id);
	else if (r == 0)
		r = begin_go_on(file, false, ret_run, err);
	return r < 0 || (r = note_night(how->since_s, err)) < 0 ? r : begin_set_up(ret_run, how, err);
}

static void say_begun(const cJSON *series, uint32_t index, const struct run *run, bool goes_on)
{
	event_send(&(struct event){ .id = EVENT_TRIAL_BEGUN, .run_id = run->id, .count = index + 1 },
		   "%s: trial %s, %" PRIu32 " of %" PRIu32 ", %s", series_id(series),
		   series_text(series_trial(series, index), "name"), index + 1, series_trials(series),
		   goes_on ? "goes on" : "begins");
}

/* Fails the run of a trial, where there is one, so that no other trial goes on with it. */
static int fail_run(const cJSON *series, uint32_t index, const char *why, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	int r;

	if ((r = begin_set_aside(err)) < 0 || (r = is_current(series, index, &run, err)) <= 0 ||
	    run_state_is_final(run.state))
		return r < 0 ? r : 0;
	if ((r = run_end(RUN_FAILED, why, err)) < 0)
		return r;
	(void)series_set(series_trial(series, index), "run", cJSON_CreateString(run.id));
	return run_archive(err);
}

/* Notes that a trial cannot begin or go on. The run fails first: after a kill between the two the series
 * notes it as it notes any run that has failed. */
static int fail_trial(cJSON *series, uint32_t index, const struct error *why, struct error *err)
{
	cJSON *trial = series_trial(series, index);
	int r = fail_run(series, index, why->text, err);

	if (r < 0)
		return r;
	note_state(trial, TRIAL_FAILED, why->text);
	event_send(&(struct event){ .id = EVENT_TRIAL_FAILED, .run_id = series_text(trial, "run") },
		   "%s: trial %s failed: %s", series_id(series), series_text(trial, "name"), why->text);
	return series_write(series, err);
}

/* Tells whether the trial has other weights or other sources than the file of the series. */
static bool has_own_files(const cJSON *trial)
{
	const cJSON *overrides = cJSON_GetObjectItemCaseSensitive(trial, "overrides"), *item;

	cJSON_ArrayForEach(item, overrides)
		if (strcmp(item->string, "model.weights") == 0 || strncmp(item->string, "source", 6) == 0)
			return true;
	return false;
}

/* Tells whether the mistake lies in the trial, so that the others may still be right. What is refused or not
 * found lies in the trial only where the trial has files of its own. */
static bool is_of_trial(const cJSON *trial, const struct error *err)
{
	const int code = error_exit_code(err);

	/* -EEXIST: somebody else has a branch of the trial's name. */
	return code == EX_DATAERR || code == EX_CONFIG || err->code == -EEXIST ||
	       (code == EX_NOPERM && has_own_files(trial));
}

/* Nothing of the trial has begun: it waits again, for any slot. */
static void give_back(cJSON *series, uint32_t index)
{
	CLEANUP(run_done) struct run run = { 0 };
	cJSON *trial = series_trial(series, index);
	struct error err;

	if (*series_text(trial, "run") || is_current(series, index, &run, &err) != 0)
		return;
	note_state(trial, TRIAL_WAITING, NULL);
	cJSON_DeleteItemFromObjectCaseSensitive(trial, "slot");
	if (series_write(series, &err) < 0)
		log_warning("%s", err.text);
}

/* Tells whether the trial is this slot's still: meanwhile a person may have given the series up. */
static bool is_mine(const cJSON *series, uint32_t index)
{
	const cJSON *trial = series_trial(series, index);

	return !series_is_final(series) && !series_is_given_up(series) &&
	       trial_state_of(trial) == TRIAL_RUNNING && trial_slot(trial) == slot_now();
}

/* Asks the run of this slot for a state, as kiln-controld would. */
static int ask(enum run_state wanted, struct error *err)
{
	struct run_want want;
	int r = run_want_get(&want, err);

	want.state = wanted;
	want.seq++;
	return r < 0 ? r : run_want_set(&want, err);
}

/* The series was stopped, or its night ended, while the trial began: its run rests. Returns
 * SERIES_BEGUN_REST. */
static int rest(const cJSON *series, uint32_t index, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	const bool stopped = series_state_of(series) == SERIES_STOPPED;
	int r = is_current(series, index, &run, err);

	if (r <= 0 || run_state_is_final(run.state))
		return r < 0 ? r : SERIES_BEGUN_REST;
	if (stopped && (r = ask(RUN_STOPPED, err)) < 0)
		return r;
	r = run_state_set(stopped ? RUN_STOPPED : RUN_EXPIRED, err);
	return r < 0 ? r : SERIES_BEGUN_REST;
}

int trial_begin(const char *file, struct held *held, const struct config *config, const struct next *next,
		struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	struct set_up how = { .since_s = (int64_t)json_number(held->series, "since_s", 0),
			      .budget_ends_s = ends_of(held->series, config, (int64_t)clock_boot_s()),
			      .repeats = "" };
	struct error why = { 0 };
	int r = note_taken(held->series, next, err), begun;
	bool rests;

	if (r < 0)
		return r;
	held_let_go(held);
	begun = begin_run(file, held, next, &how, &run, &why);
	if ((r = held_again(held, err)) < 0)
		return r;
	if (!is_mine(held->series, next->trial))
		return (r = fail_run(held->series, next->trial, "its series has ended", err)) < 0
			       ? r
			       : SERIES_BEGUN_OVER;
	rests = series_state_of(held->series) != SERIES_RUNNING;
	if (begun < 0 && is_of_trial(series_trial(held->series, next->trial), &why))
		return (r = fail_trial(held->series, next->trial, &why, err)) < 0 ? r
		       : rests                                                    ? SERIES_BEGUN_REST
										  : SERIES_BEGUN_NONE;
	if (begun < 0)
		give_back(held->series, next->trial);
	else if ((r = note_begun(held->series, config, next, &run, err)) < 0)
		return r;
	if (rests)
		return rest(held->series, next->trial, err);
	if (begun == 0 && series_is_paused(held->series) && (r = ask(RUN_PAUSED, err)) < 0)
		return r;
	if (begun < 0)
		return error_set(err, begun, "%s", why.text);
	say_begun(held->series, next->trial, &run, how.adopted);
	return SERIES_BEGUN_TRIAL;
}
