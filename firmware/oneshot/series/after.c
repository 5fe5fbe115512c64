/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/after.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/box/night.h"
#include "core/series/next.h"
#include "oneshot/series/end.h"
#include "oneshot/series/freeze.h"
#include "oneshot/series/note.h"
#include "oneshot/series/spent.h"

#include <string.h>
#include <sysexits.h>
#include <time.h>

/* The trainer stops this much before the end of a budget at most, to write its last checkpoint. */
#define BUDGET_REST_S 60
#define BUDGET_SPENT  "series.budget is spent"
#define GAVE_UP       "a person gave it up"
#define SPACE_WAIT_S  1 /* between two looks whether the disk has space again */

static bool is_spent(const cJSON *series, const struct config *config, int64_t reserve_s)
{
	return spent_left_s(series, config->series.budget) <= reserve_s;
}

/* Returns when the night was asked for; 0 = not known. */
static int64_t since_of(const cJSON *series)
{
	return (int64_t)json_number(series, "since_s", 0);
}

/* Tells whether a trial began, or went on last, in another night of the series than the present one. A stop
 * that a person asked for belongs to its night. */
static bool is_of_other_night(const cJSON *series, const cJSON *record)
{
	const double night_s = json_number(record, "night_s", 0);

	return night_s != 0 && night_s != (double)since_of(series);
}

static bool night_is_over(const cJSON *series, const struct config *config)
{
	const int64_t since = since_of(series);
	const int64_t ends = since ? night_end(config, since) : 0;

	return ends && time(NULL) >= ends;
}

/* ---- What the run did ---- */

static int rest_series(cJSON *series, enum series_state state, struct error *err)
{
	/* The trials of other slots still work. */
	spent_count(series, series_runs_elsewhere(series, slot_now()));
	series_set_state(series, state);
	return series_write(series, err);
}

/* Notes a run that has ended for good, and moves its record to the archive. */
static int note_final(cJSON *series, cJSON *trial, const cJSON *record, enum run_state state, uint32_t rungs,
		      struct error *err)
{
	int r = 0;

	if (note_end(series, trial, record, state, rungs)) {
		r = series_write(series, err);
		if (r == 0 && state == RUN_FAILED)
			event_send(&(struct event){ .id = EVENT_TRIAL_FAILED,
						    .run_id = series_text(record, "id") },
				   "%s: trial %s failed: %s", series_id(series), series_text(trial, "name"),
				   series_text(record, "reason"));
	}
	if (r < 0)
		return r;
	end_keep_best(series);
	return run_archive(err);
}

static uint32_t rungs_of(const cJSON *trial)
{
	return (uint32_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(trial, "rungs"));
}

/* Notes a trial that has ended a rung, and parks its run. */
static int note_parked(cJSON *series, cJSON *trial, const cJSON *record, uint64_t epochs, struct error *err)
{
	int r = 0;

	if (trial_state_of(trial) != TRIAL_PARKED) {
		note_rungs(series, trial, record, epochs, rungs_of(trial) + 1);
		note_state(trial, TRIAL_PARKED, NULL);
		r = series_write(series, err);
	}
	return r < 0 ? r : run_park(series_text(record, "id"), err);
}

/* Notes what the current run did. *ret_rests: the run is unfinished, and so is the trial. */
static int note_trial(cJSON *series, const struct config *config, uint32_t index, const struct run *run,
		      const cJSON *record, bool *ret_rests, struct error *err)
{
	cJSON *trial = series_trial(series, index);
	const uint64_t rest = run->rest_after_epoch;

	note_run(series, trial, record);
	if (run_state_is_final(run->state))
		return note_final(series, trial, record, run->state, next_rungs(config, series), err);
	if (run->state == RUN_STOPPED && !run_want_is_stop() && rest &&
	    json_number(trial, "epochs", 0) >= (double)rest)
		return note_parked(series, trial, record, rest, err);
	if (run->state == RUN_EXPIRED && is_spent(series, config, BUDGET_REST_S))
		return end_trial(series, index, BUDGET_SPENT, err);
	*ret_rests = run->state != RUN_EXPIRED || night_is_over(series, config);
	if (*ret_rests &&
	    ((run->state == RUN_STOPPED && !is_of_other_night(series, record)) || run->state == RUN_EXPIRED))
		return rest_series(series, run->state == RUN_STOPPED ? SERIES_STOPPED : SERIES_EXPIRED, err);
	return series_write(series, err);
}

/* ---- What follows ---- */

static int prune_lost(cJSON *series, const struct config *config, struct error *err)
{
	int index, r = 0;

	while (r == 0 && (index = next_lost(config, series)) >= 0)
		r = end_trial(series, (uint32_t)index, NULL, err);
	return r;
}

static bool any_ran(const cJSON *series)
{
	return series_count(series, TRIAL_FINISHED) + series_count(series, TRIAL_PRUNED) > 0;
}

/* Why the series ends although trials are left; false: it does not. `reserve_s`: so little of the budget is
 * left when the trainer stops for its sake. */
static bool ends_early(const cJSON *series, const struct config *config, int64_t reserve_s,
		       enum series_state *ret_state, const char **ret_reason)
{
	if (config->series.stop_on_failure && series_count(series, TRIAL_FAILED) > 0) {
		*ret_state = SERIES_FAILED;
		*ret_reason = "a trial failed, and series.stop_on_failure is on";
		return true;
	}
	*ret_state = SERIES_FINISHED;
	*ret_reason = BUDGET_SPENT;
	return is_spent(series, config, reserve_s);
}

/* Tells whether a person stopped the series, or its night ended, while another slot worked. */
static bool rests_elsewhere(const cJSON *series)
{
	return series_slots(series) > 1 && series_state_of(series) != SERIES_RUNNING;
}

static int follow(cJSON *series, const struct config *config, int64_t reserve, enum after *ret_after,
		  struct error *err)
{
	const bool elsewhere = series_runs_elsewhere(series, slot_now());
	int r = prune_lost(series, config, err);
	enum series_state state;
	const char *reason;
	struct next next;
	bool early;

	if (r < 0)
		return r;
	next = next_of(config, series, slot_now());
	early = ends_early(series, config, reserve, &state, &reason);
	/* A slot does not wait for a trial that will begin in another night. */
	*ret_after = rests_elsewhere(series) || night_is_over(series, config) ? AFTER_REST : AFTER_WAIT;
	if (next.waits || (early && elsewhere))
		return series_write(series, err);
	*ret_after = AFTER_OVER;
	if (early)
		return end_series(series, state, reason, err);
	if (next.over)
		return end_series(series,
				  series_count(series, TRIAL_PARKED) || any_ran(series) ? SERIES_FINISHED
											: SERIES_FAILED,
				  NULL, err);
	note_next(series, &next);
	*ret_after = AFTER_REST;
	if (night_is_over(series, config))
		return rest_series(series, SERIES_EXPIRED, err);
	if (rests_elsewhere(series))
		return series_write(series, err);
	*ret_after = AFTER_NEXT;
	if ((r = series_write(series, err)) < 0 || !since_of(series))
		return r;
	return run_asked_set(since_of(series), err);
}

/* Returns so little of the budget that no other trial begins. A trial that ended for the sake of the budget,
 * in any slot, stopped this much before its end. `state`: that of the current run. */
static int64_t reserve_s(const cJSON *series, enum run_state state)
{
	bool ended = state == RUN_EXPIRED;

	for (uint32_t i = 0; i < series_trials(series); i++)
		ended = ended || strcmp(series_text(series_trial(series, i), "reason"), BUDGET_SPENT) == 0;
	return ended ? BUDGET_REST_S : 0;
}

int after_final_run(cJSON *series, const struct config *config, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	bool rests;
	int index, r = run_load(&run, err);

	if (r < 0 || !run_state_is_final(run.state) || (r = run_record(&record, err)) < 0)
		return r == -ENOENT ? 0 : r;
	index = note_find(series, record);
	return index < 0 ? 0 : note_trial(series, config, (uint32_t)index, &run, record, &rests, err);
}

int after_run_of(cJSON *series, enum after *ret_after, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	bool rests = false, given_up;
	int index, there, r = freeze_config(series, &config, err);

	if (r < 0 || ((there = run_load(&run, err)) < 0 && there != -ENOENT))
		return r < 0 ? r : there;
	spent_count(series, true);
	given_up = series_is_given_up(series) && (there < 0 || run_state_is_final(run.state));
	/* Without a current run the process before was killed after it had parked or pruned it. */
	if (there == 0) {
		if ((r = run_record(&record, err)) < 0)
			return r;
		index = note_find(series, record);
		if (index < 0 && !run_state_is_final(run.state)) {
			*ret_after = AFTER_NO_SERIES;
			return 0;
		}
		if (index >= 0 &&
		    (r = note_trial(series, &config, (uint32_t)index, &run, record, &rests, err)) < 0)
			return r;
		given_up = given_up || (index >= 0 &&
					cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(record, "abandoned")));
	}
	if (given_up) {
		*ret_after = AFTER_GIVEN_UP;
		return end_series(series, SERIES_FAILED, GAVE_UP, err);
	}
	*ret_after = rests && run.state == RUN_STOPPED && series_state_of(series) == SERIES_RUNNING
			     ? AFTER_NEXT
			     : AFTER_REST;
	return rests ? 0
		     : follow(series, &config, reserve_s(series, there == 0 ? run.state : RUN_RUNNING),
			      ret_after, err);
}

/* Takes the lock, and loads the unfinished series. Errors: those of series_load_unfinished(). */
static int load_locked(int *ret_lock, cJSON **ret_series, struct error *err)
{
	int r = series_lock(ret_lock, err);

	return r < 0 ? r : series_load_unfinished(ret_series, err);
}

static int after_run_once(enum after *ret_after, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL;
	int r = load_locked(&lock, &series, err);

	*ret_after = AFTER_NO_SERIES;
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : after_run_of(series, ret_after, err);
}

int after_run(enum after *ret_after, struct error *err)
{
	bool said = false;
	int r;

	while ((r = after_run_once(ret_after, err)) == -ENOSPC || r == -EDQUOT) {
		if (!said)
			log_warning("%s, waiting for space", err->text);
		said = true;
		(void)sleep(SPACE_WAIT_S);
	}
	return r;
}

bool after_goes_on(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == 0 && series_state_of(series) == SERIES_RUNNING;
}

bool after_rests(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == 0 && series_state_of(series) != SERIES_RUNNING;
}

int after_has_ended(int64_t since, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	CLEANUP(json_free) cJSON *series = NULL;
	uint32_t count = 0;
	int r = series_list(&ids, &count, err);

	if (r < 0 || count == 0)
		return r;
	/* A record that cannot be read does not stop the night. */
	if (series_load(ids[count - 1], &series, err) < 0)
		return 0;
	return series_is_final(series) && since_of(series) == since && series_has_begun(series) &&
	       strcmp(series_text(series, "reason"), GAVE_UP) != 0;
}

/* ---- A service that cannot go on ---- */

int after_failure(int exit_code, const char *reason, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL, *record = NULL;
	enum run_state state;
	int r;

	if (exit_code != EX_DATAERR && exit_code != EX_CONFIG)
		return 0;
	if ((r = series_load_unfinished(&series, err)) < 0 || (r = run_state_get(&state, err)) < 0 ||
	    (r = run_record(&record, err)) < 0)
		return r == -ENOENT ? 0 : r;
	if (run_state_is_final(state) || note_find(series, record) < 0)
		return 0;
	r = run_end(RUN_FAILED, reason, err);
	return r < 0 ? r : 1;
}

int after_halt(struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL;
	int r = load_locked(&lock, &series, err);

	if (r < 0 || series_state_of(series) != SERIES_RUNNING)
		return r == -ENOENT ? 0 : r;
	return rest_series(series, SERIES_STOPPED, err);
}

int after_night(struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL;
	int r = load_locked(&lock, &series, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return rest_series(series, SERIES_EXPIRED, err);
}

int64_t after_since(void)
{
	CLEANUP(json_free) cJSON *series = NULL;
	const int64_t since = series_load_unfinished(&series, NULL) == 0 ? since_of(series) : 0;

	return since ? since : time(NULL);
}
