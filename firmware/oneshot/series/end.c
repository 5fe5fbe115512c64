/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/end.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "oneshot/series/note.h"
#include "oneshot/series/spent.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

void end_keep_best(const cJSON *series)
{
	const int best = series_best(series, true);
	struct error err;

	/* A record that has just ended comes into the archive as the newest one. */
	if (best >= 0 && run_keep(series_text(series_trial(series, (uint32_t)best), "run"), &err) < 0)
		log_debug("%s", err.text);
}

static const char *why_lost(const cJSON *trial)
{
	return cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(trial, "value"))
		       ? "other trials are better"
		       : "it has no value of promote.objective";
}

int end_trial(cJSON *series, uint32_t index, const char *reason, struct error *err)
{
	cJSON *trial = series_trial(series, index);
	const char *run_id = series_text(trial, "run");
	int r;

	if (!reason)
		reason = why_lost(trial);
	end_keep_best(series);
	r = run_prune(run_id, reason, err);
	if (r == -ENOENT)
		log_warning("%s; the trial is over all the same", err->text);
	else if (r < 0)
		return r;
	note_state(trial, TRIAL_PRUNED, reason);
	event_send(&(struct event){ .id = EVENT_TRIAL_PRUNED, .run_id = run_id },
		   "%s: trial %s stops early: %s", series_id(series), series_text(trial, "name"), reason);
	return series_write(series, err);
}

static int prune_parked(cJSON *series, const char *reason, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i);

		if (trial_state_of(trial) == TRIAL_PARKED || trial_is_moved(trial))
			r = end_trial(series, i, reason, err);
	}
	return r;
}

/* Fails the current run of this slot, where it is an unfinished one of the trial. The record of the run says
 * so: a killed begin may not have noted the run. */
static int fail_run_of(const cJSON *series, uint32_t index, const char *reason, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	enum run_state state;
	int r;

	if ((r = run_record(&record, err)) < 0 || (r = run_state_get(&state, err)) < 0)
		return r == -ENOENT ? 0 : r;
	if (note_find(series, record) != (int)index || run_state_is_final(state))
		return 0;
	r = run_end(RUN_FAILED, reason, err);
	return r < 0 ? r : run_archive(err);
}

/* Ends a trial that another slot has left unfinished: a person gave the series up. */
static int end_in_its_slot(const cJSON *series, uint32_t index, const char *reason, struct error *err)
{
	cJSON *trial = series_trial(series, index);
	const unsigned mine = slot_use(trial_slot(trial));
	const int r = fail_run_of(series, index, reason, err);

	(void)slot_use(mine);
	if (r == 0)
		note_state(trial, TRIAL_FAILED, reason);
	return r;
}

static int end_elsewhere(const cJSON *series, const char *reason, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < series_trials(series); i++) {
		cJSON *trial = series_trial(series, i);

		if (trial_state_of(trial) == TRIAL_RUNNING && trial_slot(trial) != slot_now())
			r = end_in_its_slot(series, i, reason, err);
	}
	return r;
}

/* Without a winner the current run may be missing, because every trial was parked: shows the last trial. */
static void show_any(const cJSON *series)
{
	enum run_state state;

	for (uint32_t i = series_trials(series); i > 0 && run_state_get(&state, NULL) == -ENOENT; i--)
		(void)!run_show(series_text(series_trial(series, i - 1), "run"), NULL);
}

/* Makes the winner's run the current one of slot 0, so that status and report show it. A record that the
 * archive does not keep any more is no reason to fail. */
static void show_winner(const cJSON *series, int winner)
{
	const unsigned mine = slot_use(0);
	struct error err = { 0 };

	if (winner >= 0 && run_show(series_text(series_trial(series, (uint32_t)winner), "run"), &err) < 0)
		log_warning("%s; the last trial stays the current run", err.text);
	show_any(series);
	(void)slot_use(mine);
}

static void say_over(const cJSON *series, enum series_state state, int winner, const char *reason)
{
	const cJSON *best = winner < 0 ? NULL : series_trial(series, (uint32_t)winner);
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(best, "value");
	char won[128] = "no trial has a value";

	if (best)
		(void)snprintf(won, sizeof(won), "%.64s won with %s %.6g", series_text(best, "name"),
			       series_text(series, "objective"), value->valuedouble);
	event_send(&(struct event){ .id = EVENT_SERIES_FINISHED,
				    .run_id = best ? series_text(best, "run") : NULL,
				    .count = series_trials(series) },
		   "%s: %s after %" PRIu32 " of %" PRIu32 " trials%s%s: %s", series_id(series),
		   series_state_name(state), series_trials(series) - series_count(series, TRIAL_WAITING),
		   series_trials(series), reason ? ", " : "", reason ? reason : "", won);
}

int end_series(cJSON *series, enum series_state state, const char *reason, struct error *err)
{
	int winner, r = prune_parked(series, reason, err);

	if (r < 0 || (r = end_elsewhere(series, reason, err)) < 0)
		return r;
	winner = series_best(series, true);
	spent_count(series, false);
	if (reason)
		(void)series_set(series, "reason", json_string(reason));
	(void)series_set(
		series, "winner",
		winner < 0 ? cJSON_CreateNull()
			   : cJSON_CreateString(series_text(series_trial(series, (uint32_t)winner), "name")));
	(void)series_set(series, "ended_s", cJSON_CreateNumber((double)time(NULL)));
	series_set_state(series, state);
	note_next(series, NULL);
	show_winner(series, winner);
	if ((r = series_write(series, err)) == 0)
		say_over(series, state, winner, reason);
	return r;
}
