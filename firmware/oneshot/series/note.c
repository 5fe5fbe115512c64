/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/note.h"
#include "core/run/run_summary.h"
#include "core/series/objective.h"

#include <string.h>

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

int note_find(const cJSON *series, const cJSON *record)
{
	const char *id = cJSON_GetStringValue(json_member(record, "series.id")),
		   *name = cJSON_GetStringValue(json_member(record, "series.trial"));

	return id && name && strcmp(id, series_id(series)) == 0 ? series_find_trial(series, name) : -1;
}

static bool objective_of_series(const cJSON *series, struct objective *ret_objective)
{
	if (!objective_find(member(series, "objective")->valuestring, ret_objective))
		return false;
	ret_objective->maximize = strcmp(member(series, "direction")->valuestring, "max") == 0;
	return true;
}

static bool best_of(const cJSON *series, const cJSON *record, uint64_t epochs, double *ret_value,
		    uint64_t *ret_epoch)
{
	struct objective objective;

	return objective_of_series(series, &objective) &&
	       objective_best(&objective, record, epochs, ret_value, ret_epoch);
}

static cJSON *curve_of(const cJSON *series, const cJSON *record)
{
	struct objective objective;

	return objective_of_series(series, &objective) ? objective_curve(&objective, record) : NULL;
}

static double rows_per_s(const cJSON *record, double epochs)
{
	const double took_s =
		json_number(record, "time.training_s", 0) + json_number(record, "time.waiting_s", 0);

	return took_s > 0 ? json_number(record, "metrics.train.rows", 0) * epochs / took_s : 0;
}

void note_run(const cJSON *series, cJSON *trial, const cJSON *record)
{
	const double epochs = (double)run_epochs_done(member(record, "epochs"));
	cJSON *summary = run_summary(record);
	double value = 0;
	uint64_t epoch = 0;
	const bool any = best_of(series, record, 0, &value, &epoch);

	(void)series_set(trial, "run", cJSON_Duplicate(member(record, "id"), false));
	(void)series_set(trial, "started_s", cJSON_Duplicate(member(record, "started_s"), false));
	(void)series_set(trial, "epochs", cJSON_CreateNumber(epochs));
	(void)series_set(trial, "value", any ? cJSON_CreateNumber(value) : cJSON_CreateNull());
	(void)series_set(trial, "best_epoch", cJSON_CreateNumber((double)epoch));
	(void)series_set(trial, "curve", curve_of(series, record));
	(void)series_set(trial, "took_s", cJSON_CreateNumber(json_number(summary, "took_s", 0)));
	(void)series_set(trial, "bytes", cJSON_CreateNumber(json_number(record, "store.bytes", 0)));
	(void)series_set(trial, "rows_per_s", cJSON_CreateNumber(rows_per_s(record, epochs)));
	(void)series_set(trial, "summary", summary);
}

void note_rungs(const cJSON *series, cJSON *trial, const cJSON *record, uint64_t epochs, uint32_t rungs)
{
	cJSON *values = cJSON_GetObjectItemCaseSensitive(trial, "rungs");
	double value = 0;
	uint64_t epoch;
	const bool any = best_of(series, record, epochs, &value, &epoch);

	while ((uint32_t)cJSON_GetArraySize(values) < rungs &&
	       cJSON_AddItemToArray(values, any ? cJSON_CreateNumber(value) : cJSON_CreateNull()))
		continue;
	(void)series_set(trial, "rung", cJSON_CreateNumber(cJSON_GetArraySize(values)));
}

bool note_end(const cJSON *series, cJSON *trial, const cJSON *record, enum run_state state, uint32_t rungs)
{
	static const enum trial_state states[RUN_STATE_MAX] = {
		[RUN_FINISHED] = TRIAL_FINISHED, [RUN_FAILED] = TRIAL_FAILED, [RUN_PRUNED] = TRIAL_PRUNED
	};

	if (trial_state_of(trial) == states[state])
		return false;
	if (state == RUN_FINISHED)
		note_rungs(series, trial, record, 0, rungs);
	note_state(trial, states[state], state == RUN_FINISHED ? NULL : series_text(record, "reason"));
	return true;
}

void note_next(cJSON *series, const struct next *next)
{
	const char *name = next ? series_text(series_trial(series, next->trial), "name") : NULL;

	cJSON_DeleteItemFromObjectCaseSensitive(series, "next");
	if (name)
		(void)series_set(series, "next", json_string(name));
}

void note_state(cJSON *trial, enum trial_state state, const char *reason)
{
	trial_set_state(trial, state);
	cJSON_DeleteItemFromObjectCaseSensitive(trial, "reason");
	if (reason)
		(void)series_set(trial, "reason", json_string(reason));
}
