/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/next.h"
#include "core/config/config.h"
#include "core/series/halving.h"

#include <math.h>
#include <string.h>

static bool halves(const cJSON *series)
{
	const char *method = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(series, "method"));

	return method && strcmp(method, "halving") == 0;
}

static struct halving rule_of(const struct config *config, const cJSON *series)
{
	const char *direction = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(series, "direction"));

	return (struct halving){ .first_epochs = config->series.first_rung_epochs,
				 .full_epochs = config->run.epochs,
				 .reduction = config->series.reduction,
				 .maximize = direction && strcmp(direction, "max") == 0 };
}

/* ---- In turn ---- */

/* Tells whether a trial is the one that the slot works on. */
static bool is_at_work(const cJSON *trial, unsigned slot)
{
	return trial_state_of(trial) == TRIAL_RUNNING && trial_slot(trial) == slot && !trial_is_moved(trial);
}

/* The smaller it is, the earlier is the trial's turn: a trial that has begun goes before those that wait. */
static int rank_of(const cJSON *trial, unsigned slot)
{
	return is_at_work(trial, slot) ? 0 : trial_state_of(trial) == TRIAL_WAITING ? 2 : 1;
}

static struct next in_turn(const cJSON *series, unsigned slot)
{
	struct next next = { .over = true };

	if (series_runs_elsewhere(series, slot))
		next = (struct next){ .waits = true };
	for (uint32_t i = series_trials(series); i > 0; i--) {
		const cJSON *trial = series_trial(series, i - 1);
		const enum trial_state state = trial_state_of(trial);

		if (state > TRIAL_PARKED || (state == TRIAL_RUNNING && trial_slot(trial) != slot))
			continue;
		if (next.over || next.waits ||
		    rank_of(trial, slot) <= rank_of(series_trial(series, next.trial), slot))
			next = (struct next){ .trial = i - 1 };
	}
	return next;
}

/* ---- Halving ---- */

static enum halving_state halving_state_of(const cJSON *trial)
{
	switch (trial_state_of(trial)) {
	case TRIAL_WAITING:
		return HALVING_WAITING;
	case TRIAL_RUNNING:
		return HALVING_RUNNING;
	case TRIAL_PARKED:
		return HALVING_PARKED;
	case TRIAL_FAILED:
		return HALVING_FAILED;
	default:
		return HALVING_ENDED;
	}
}

static struct halving_trial *halving_trials_of(const cJSON *series)
{
	const uint32_t count = series_trials(series);
	struct halving_trial *trials = calloc(count ? count : 1, sizeof(*trials));

	for (uint32_t i = 0; trials && i < count; i++) {
		const cJSON *trial = series_trial(series, i), *value;

		trials[i].state = halving_state_of(trial);
		cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(trial, "rungs"))
			if (trials[i].rungs < HALVING_RUNGS_MAX)
				trials[i].value[trials[i].rungs++] =
					cJSON_IsNumber(value) ? value->valuedouble : NAN;
	}
	return trials;
}

int next_after(const cJSON *series, unsigned slot)
{
	int first = -1;

	if (halves(series) || series_slots(series) > 1)
		return -1;
	for (uint32_t i = 0; i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i);
		const enum trial_state state = trial_state_of(trial);

		if (state > TRIAL_PARKED || is_at_work(trial, slot))
			continue;
		if (state != TRIAL_WAITING)
			return -1;
		if (first < 0)
			first = (int)i;
	}
	return first;
}

uint32_t next_rungs(const struct config *config, const cJSON *series)
{
	const struct halving rule = rule_of(config, series);

	return halves(series) ? halving_rungs(&rule) : 0;
}

uint64_t next_rest_after(const struct config *config, uint32_t rung)
{
	const struct halving rule = rule_of(config, NULL);
	const uint64_t epochs = rung < halving_rungs(&rule) ? halving_epochs(&rule, rung) : 0;

	return epochs < config->run.epochs ? epochs : 0;
}

/* Returns the index of a trial that runs in this slot, of several the one that the slot works on; -1: none.
 */
static int running_in(const cJSON *series, unsigned slot)
{
	int found = -1;

	for (uint32_t i = 0; i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i);

		if (is_at_work(trial, slot))
			return (int)i;
		if (found < 0 && trial_state_of(trial) == TRIAL_RUNNING && trial_slot(trial) == slot)
			found = (int)i;
	}
	return found;
}

static struct next by_halving(const struct config *config, const cJSON *series, unsigned slot)
{
	const struct halving rule = rule_of(config, series);
	CLEANUP(free_ptr) struct halving_trial *trials = halving_trials_of(series);
	const int running = running_in(series, slot);
	struct halving_next next;

	if (trials && running >= 0)
		return (struct next){ .trial = (uint32_t)running,
				      .epochs = next_rest_after(config, trials[running].rungs) };
	/* Without memory the trials run in turn, each to its end. */
	if (!trials)
		return in_turn(series, slot);
	next = halving_next(&rule, trials, series_trials(series));
	return (struct next){ .over = next.verdict == HALVING_DONE,
			      .waits = next.verdict == HALVING_WAIT,
			      .trial = next.trial,
			      .epochs = next.epochs < config->run.epochs ? next.epochs : 0 };
}

struct next next_of(const struct config *config, const cJSON *series, unsigned slot)
{
	return halves(series) ? by_halving(config, series, slot) : in_turn(series, slot);
}

int next_lost(const struct config *config, const cJSON *series)
{
	const struct halving rule = rule_of(config, series);
	CLEANUP(free_ptr) struct halving_trial *trials = halving_trials_of(series);

	for (uint32_t i = 0; trials && halves(series) && i < series_trials(series); i++)
		if (trials[i].state == HALVING_PARKED &&
		    halving_lost(&rule, trials, series_trials(series), i))
			return (int)i;
	return -1;
}
