/* SPDX-License-Identifier: Apache-2.0 */
/* What the record of a series says about the series and its trials. */
#include "core/base/slot.h"
#include "core/series/objective.h"
#include "core/series/series.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const series_states[] = {
	[SERIES_RUNNING] = "running",   [SERIES_STOPPED] = "stopped", [SERIES_EXPIRED] = "expired",
	[SERIES_FINISHED] = "finished", [SERIES_FAILED] = "failed",
};
static_assert(sizeof(series_states) / sizeof(series_states[0]) == SERIES_STATE_MAX,
	      "every state has its name");

static const char *const trial_states[] = {
	[TRIAL_WAITING] = "waiting",   [TRIAL_RUNNING] = "running", [TRIAL_PARKED] = "parked",
	[TRIAL_FINISHED] = "finished", [TRIAL_PRUNED] = "pruned",   [TRIAL_FAILED] = "failed",
};
static_assert(sizeof(trial_states) / sizeof(trial_states[0]) == TRIAL_STATE_MAX, "every state has its name");

const char *series_state_name(enum series_state state)
{
	return series_states[state];
}

const char *trial_state_name(enum trial_state state)
{
	return trial_states[state];
}

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Returns a text member; "" where there is none. */
const char *series_text(const cJSON *object, const char *key)
{
	const cJSON *item = member(object, key);

	return cJSON_IsString(item) ? item->valuestring : "";
}

static uint32_t find_name(const char *const *names, uint32_t count, const char *name)
{
	uint32_t i = 0;

	while (i + 1 < count && strcmp(names[i], name) != 0)
		i++;
	return i;
}

bool series_set(cJSON *object, const char *key, cJSON *item)
{
	if (!item)
		return false;
	cJSON_DeleteItemFromObjectCaseSensitive(object, key);
	return cJSON_AddItemToObject(object, key, item);
}

/* ---- The series ---- */

const char *series_id(const cJSON *series)
{
	return series_text(series, "id");
}

enum series_state series_state_of(const cJSON *series)
{
	return (enum series_state)find_name(series_states, SERIES_STATE_MAX, series_text(series, "state"));
}

bool series_is_final(const cJSON *series)
{
	return series_state_of(series) >= SERIES_FINISHED;
}

void series_set_state(cJSON *series, enum series_state state)
{
	(void)series_set(series, "state", cJSON_CreateString(series_states[state]));
}

unsigned series_slots(const cJSON *series)
{
	const double slots = json_number(series, "slots", 1);

	return slots > 1 && slots <= SLOTS_MAX ? (unsigned)slots : 1;
}

/* ---- Its trials ---- */

uint32_t series_trials(const cJSON *series)
{
	return (uint32_t)cJSON_GetArraySize(member(series, "trials"));
}

cJSON *series_trial(const cJSON *series, uint32_t index)
{
	return cJSON_GetArrayItem(member(series, "trials"), (int)index);
}

static int find(const cJSON *series, const char *key, const char *text)
{
	const cJSON *trial;
	int index = 0;

	cJSON_ArrayForEach(trial, member(series, "trials")) {
		if (*text && strcmp(series_text(trial, key), text) == 0)
			return index;
		index++;
	}
	return -1;
}

int series_find_trial(const cJSON *series, const char *name)
{
	return find(series, "name", name);
}

int series_find_run(const cJSON *series, const char *run_id)
{
	return find(series, "run", run_id);
}

unsigned trial_slot(const cJSON *trial)
{
	const double slot = json_number(trial, "slot", 0);

	return slot > 0 && slot < SLOTS_MAX ? (unsigned)slot : 0;
}

bool trial_is_moved(const cJSON *trial)
{
	return trial_state_of(trial) == TRIAL_RUNNING &&
	       cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(trial, "moved"));
}

bool series_runs_elsewhere(const cJSON *series, unsigned slot)
{
	const cJSON *trial;

	cJSON_ArrayForEach(trial, member(series, "trials"))
		if (trial_state_of(trial) == TRIAL_RUNNING && trial_slot(trial) != slot)
			return true;
	return false;
}

enum trial_state trial_state_of(const cJSON *trial)
{
	return (enum trial_state)find_name(trial_states, TRIAL_STATE_MAX, series_text(trial, "state"));
}

void trial_set_state(cJSON *trial, enum trial_state state)
{
	(void)series_set(trial, "state", cJSON_CreateString(trial_states[state]));
}

uint32_t series_count(const cJSON *series, enum trial_state state)
{
	const cJSON *trial;
	uint32_t count = 0;

	cJSON_ArrayForEach(trial, member(series, "trials"))
		count += trial_state_of(trial) == state;
	return count;
}

bool series_has_begun(const cJSON *series)
{
	const cJSON *trial;

	cJSON_ArrayForEach(trial, member(series, "trials"))
		if (*series_text(trial, "run"))
			return true;
	return false;
}

/* Tells whether a trial in this state can be the best. */
static bool counts(enum trial_state state, bool finished)
{
	return finished ? state == TRIAL_FINISHED : state != TRIAL_FAILED;
}

int series_best(const cJSON *series, bool finished)
{
	const bool maximize = strcmp(series_text(series, "direction"), "max") == 0;
	const cJSON *trial;
	int best = -1, index = -1;
	double most = 0;

	cJSON_ArrayForEach(trial, member(series, "trials")) {
		const double value = json_number(trial, "value", NAN);

		index++;
		if (isnan(value) || !counts(trial_state_of(trial), finished) ||
		    (best >= 0 && (maximize ? value <= most : value >= most)))
			continue;
		best = index;
		most = value;
	}
	return best;
}

/* ---- The summary ---- */

static bool copy(cJSON *row, const char *key, const cJSON *object)
{
	const cJSON *item = member(object, key);

	return !item || cJSON_AddItemToObject(row, key, cJSON_Duplicate(item, true));
}

static bool add_name(cJSON *row, const char *key, const cJSON *series, int index)
{
	if (index < 0)
		return cJSON_AddNullToObject(row, key) != NULL;
	return cJSON_AddStringToObject(row, key,
				       series_text(series_trial(series, (uint32_t)index), "name")) != NULL;
}

static bool add_best(cJSON *row, const cJSON *series)
{
	const int best = series_best(series, false);
	const cJSON *value = best < 0 ? NULL : member(series_trial(series, (uint32_t)best), "value");

	return add_name(row, "best", series, best) &&
	       (value ? cJSON_AddNumberToObject(row, "best_value", value->valuedouble)
		      : cJSON_AddNullToObject(row, "best_value")) != NULL;
}

cJSON *series_summary(const cJSON *series)
{
	static const char *const keys[] = { "id",        "name",      "state",   "method", "objective",
					    "direction", "started_s", "ended_s", "ends_s", "winner" };
	CLEANUP(json_free) cJSON *row = cJSON_CreateObject();
	bool good = row && json_add_u64(row, "trials", series_trials(series));

	for (size_t i = 0; good && i < sizeof(keys) / sizeof(keys[0]); i++)
		good = copy(row, keys[i], series);
	for (int i = 0; good && i < TRIAL_STATE_MAX; i++)
		good = json_add_u64(row, trial_states[i], series_count(series, (enum trial_state)i));
	good = good && add_name(row, "now", series, find(series, "state", trial_states[TRIAL_RUNNING])) &&
	       add_best(row, series);
	return good ? TAKE(row) : NULL;
}
