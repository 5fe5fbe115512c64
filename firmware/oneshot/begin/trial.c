/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/trial.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/series/trials.h"
#include "oneshot/begin/branch.h"
#include "oneshot/begin/bring_series.h"
#include "oneshot/begin/claim_series.h"
#include "oneshot/begin/commits.h"
#include "oneshot/begin/overrides.h"
#include "oneshot/begin/slots.h"
#include "oneshot/begin/steps.h"
#include "oneshot/series/after.h"
#include "oneshot/series/end.h"
#include "oneshot/series/freeze.h"
#include "oneshot/series/next.h"
#include "oneshot/series/note.h"
#include "oneshot/series/spent.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

/* ---- One trial ---- */

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

/* Begins the run of a trial that waits. Each trial starts as if it were the only one: with
 * run.start_from = "latest" from the run before the series. */
static int begin_waiting(cJSON *series, const struct next *next, struct run *ret_run, struct error *err)
{
	CLEANUP(json_free)
	cJSON *members = members_of(series, series_trial(series, next->trial), next->epochs);
	CLEANUP(config_done) struct config config = { 0 };
	struct run before = { 0 };
	char path[PATH_BYTES];
	const struct new_run new = { .file = path, .config = &config, .last = &before, .members = members };
	int r;

	if ((r = check_no_other(series, next->trial, err)) < 0 ||
	    (r = freeze_trial(series, next->trial, path_of(PATH_SLOT, "next.conf", path), &config, err)) < 0)
		return r;
	if (!members)
		return error_set(err, -ENOMEM, "run.json: no memory");
	if ((r = commits_of_series(series, &config, members, err)) < 0 ||
	    (r = branch_of_trial(series, series_text(series_trial(series, next->trial), "name"), &config,
				 members, err)) < 0)
		return r;
	(void)snprintf(before.id, sizeof(before.id), "%s", series_text(series, "before"));
	return begin_new(&new, ret_run, err);
}

/* Returns the time at which the budget of the series is spent; 0 = never. */
static int64_t ends_of(const cJSON *series, const struct config *config)
{
	const int64_t left_s = spent_left_s(series, config->series.budget);

	return left_s == INT64_MAX ? 0 : time(NULL) + (left_s > 0 ? left_s : 0);
}

/* Notes which trial this slot takes, before it makes the trial's run: after a crash no other slot takes it.
 */
static int note_taken(cJSON *series, const struct next *next, struct error *err)
{
	cJSON *trial = series_trial(series, next->trial);

	note_state(trial, TRIAL_RUNNING, NULL);
	return series_set(trial, "slot", cJSON_CreateNumber(slot_now()))
		       ? series_write(series, err)
		       : error_set(err, -ENOMEM, "series.json: no memory");
}

static int note_begun(cJSON *series, const struct next *next, const struct run *run, int64_t ends_s,
		      struct error *err)
{
	cJSON *trial = series_trial(series, next->trial);

	note_next(series, NULL);
	(void)series_set(trial, "run", cJSON_CreateString(run->id));
	(void)series_set(trial, "started_s", cJSON_CreateNumber((double)run->started_s));
	(void)series_set(series, "ends_s", cJSON_CreateNumber((double)ends_s));
	return series_write(series, err);
}

static int begin_trial(const char *file, cJSON *series, const struct config *config, const struct next *next,
		       struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	const cJSON *trial = series_trial(series, next->trial);
	const char *run_id = series_text(trial, "run");
	const bool goes_on = *run_id;
	const struct set_up how = { .since_s = (int64_t)json_number(series, "since_s", 0),
				    .ends_s = ends_of(series, config),
				    .adopted = goes_on,
				    .repeats = "" };
	int r = note_taken(series, next, err);

	if (r < 0)
		return r;
	if (!goes_on)
		r = begin_waiting(series, next, &run, err);
	else if ((r = run_unpark(run_id, next->epochs, err)) == -ENOENT)
		r = error_set(err, -EBADMSG, "the record of its run %s is lost", run_id);
	else if (r == 0)
		r = begin_go_on(file, false, &run, err);
	if (r < 0 || (r = begin_set_up(&run, &how, err)) < 0 ||
	    (r = note_begun(series, next, &run, how.ends_s, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_TRIAL_BEGUN, .run_id = run.id, .count = next->trial + 1 },
		   "%s: trial %s, %" PRIu32 " of %" PRIu32 ", %s", series_id(series),
		   series_text(trial, "name"), next->trial + 1, series_trials(series),
		   goes_on ? "goes on" : "begins");
	return 1;
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

/* ---- The series ---- */

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

/* Begins the trial that is next, or notes that it has failed. Returns 1 where it runs. */
static int try_next(const char *file, cJSON *series, const struct config *config, const struct next *next,
		    struct error *err)
{
	struct error why;
	int r;

	series_set_state(series, SERIES_RUNNING);
	r = begin_trial(file, series, config, next, err);
	if (r >= 0)
		return r;
	if (!is_of_trial(series_trial(series, next->trial), err)) {
		give_back(series, next->trial);
		return r;
	}
	why = *err;
	return fail_trial(series, next->trial, &why, err);
}

static int begun_of(enum after after)
{
	switch (after) {
	case AFTER_OVER:
		return SERIES_BEGUN_OVER;
	case AFTER_WAIT:
		return SERIES_BEGUN_WAIT;
	default:
		return SERIES_BEGUN_NONE;
	}
}

/* Goes on with a series in this slot. Returns an enum series_begun: SERIES_BEGUN_NONE where the current run
 * is none of its trials, or a person gave the series up. */
static int go_on(const char *file, cJSON *series, const struct config *config, struct error *err)
{
	enum after after = AFTER_NEXT;
	int r = 0;

	while (r == 0 && (r = after_run_of(series, &after, err)) == 0 &&
	       (after == AFTER_NEXT || after == AFTER_REST)) {
		const struct next next = next_of(config, series, slot_now());

		if (next.waits)
			return SERIES_BEGUN_WAIT;
		if (next.over)
			break;
		r = try_next(file, series, config, &next, err);
	}
	if (r != 0)
		return r < 0 ? r : SERIES_BEGUN_TRIAL;
	return begun_of(after);
}

/* Goes on with a series in a night that was asked for at `since`; `goes_on` false: the series is new. */
static int go_on_tonight(const char *file, int64_t since, cJSON *series, bool goes_on, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = claim_series(series, goes_on, err);

	if (r < 0 || (r = freeze_config(series, &config, err)) < 0)
		return r;
	(void)series_set(series, "since_s", cJSON_CreateNumber((double)since));
	r = slots_set(series, &config, err);
	return r < 0 ? r : go_on(file, series, &config, err);
}

/* Tells whether a new night takes the place of a series: none of its trials has begun, and `file` has changed
 * since. Then the mistake that kept the series from beginning may be corrected. */
static bool is_superseded(const char *file, const cJSON *series)
{
	CLEANUP(json_free) cJSON *record = NULL;
	CLEANUP(free_ptr) char *text = NULL;

	for (uint32_t i = 0; i < series_trials(series); i++)
		if (*series_text(series_trial(series, i), "run"))
			return false;
	if (run_record(&record, NULL) == 0 && note_find(series, record) >= 0)
		return false;
	return file_read(file, RUN_JSON_MAX, &text, NULL, NULL) == 0 &&
	       strcmp(text, series_text(series, "config")) != 0;
}

/* Tells whether a new night is a series. `last`: the current run; its id is "" where there is none. */
static bool is_wanted(const char *file, const struct run *last)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(json_free) cJSON *overrides = NULL;

	/* Errors of the file are said by what follows. */
	return (!*last->id || run_state_is_final(last->state)) && overrides_asked(&overrides, NULL) == 0 &&
	       !overrides && config_load(file, &config, NULL) == 0 && config_has_trials(&config);
}

static int begin_series(const char *file, cJSON **ret_series, struct error *err)
{
	CLEANUP(run_done) struct run last = { 0 };
	int r = run_load(&last, err);

	if ((r < 0 && r != -ENOENT) || !is_wanted(file, &last))
		return r == -ENOENT ? 0 : r;
	if ((r = freeze_series(file, last.id, ret_series, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_SERIES_BEGUN, .count = series_trials(*ret_series) },
		   "%s: %" PRIu32 " trials, %s", series_id(*ret_series), series_trials(*ret_series),
		   series_text(*ret_series, "method"));
	return 1;
}

int series_begin(const char *file, int64_t since, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL, *new = NULL;
	int r = series_lock(&lock, err);

	if (r < 0)
		return r;
	r = series_load_unfinished(&series, err);
	if (r == -ENOENT && (r = bring_series(file, &series, err)) == 0)
		r = -ENOENT;
	if (r < 0 && r != -ENOENT)
		return r;
	if (r >= 0 && is_superseded(file, series))
		r = end_series(series, SERIES_FAILED, "it never began, and kiln.conf changed", err);
	else if (r >= 0)
		r = go_on_tonight(file, since, series, true, err);
	if (r != 0 && r != -ENOENT)
		return r;
	r = begin_series(file, &new, err);
	return r > 0 ? go_on_tonight(file, since, new, false, err) : r;
}

int series_go_on(const char *file, const char *id, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_lock(&lock, err);

	if (r < 0 || (r = series_load_unfinished(&series, err)) < 0)
		return r == -ENOENT ? SERIES_BEGUN_OVER : r;
	if (*id && strcmp(series_id(series), id) != 0)
		return SERIES_BEGUN_OVER;
	if (series_state_of(series) != SERIES_RUNNING)
		return SERIES_BEGUN_REST;
	r = freeze_config(series, &config, err);
	return r < 0 ? r : go_on(file, series, &config, err);
}

int series_let_go(struct run *run, struct error *err)
{
	int r = run_note("{\"rest_after_epoch\": null}", err);

	if (r < 0)
		return r;
	log_warning("%s is a trial, and its series is not on this disk: it trains to its end", run->id);
	run->rest_after_epoch = 0;
	return 0;
}
