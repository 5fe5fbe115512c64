/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/objective.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct objective objectives[] = {
	[OBJECTIVE_TRAIN_LOSS] = { "train.loss", "loss", false, false },
	[OBJECTIVE_TRAIN_ACCURACY] = { "train.accuracy", "accuracy", false, true },
	[OBJECTIVE_VALIDATION_LOSS] = { "validation.loss", "validation_loss", false, false },
	[OBJECTIVE_VALIDATION_ACCURACY] = { "validation.accuracy", "validation_accuracy", false, true },
	[OBJECTIVE_TEST_LOSS] = { "test.loss", "loss", true, false },
	[OBJECTIVE_TEST_ACCURACY] = { "test.accuracy", "accuracy", true, true },
};

const struct objective *objective_row(enum config_objective objective)
{
	assert(objective > OBJECTIVE_AUTO && objective <= OBJECTIVE_TEST_ACCURACY);
	return &objectives[objective];
}

bool objective_find(const char *name, struct objective *ret_objective)
{
	for (size_t i = OBJECTIVE_AUTO + 1; i < sizeof(objectives) / sizeof(objectives[0]); i++)
		if (strcmp(objectives[i].name, name) == 0) {
			*ret_objective = objectives[i];
			return true;
		}
	return false;
}

/* Returns the number of an epoch, counted from 1. A record of a test may not say it: then it is `place`. */
static uint64_t epoch_of(const cJSON *entry, uint64_t place)
{
	const double epoch = json_number(entry, "epoch", NAN);

	return epoch >= 0 && epoch < 9e15 ? (uint64_t)epoch + 1 : place;
}

static bool best_epoch(const struct objective *objective, const cJSON *list, uint64_t epochs,
		       double *ret_value, uint64_t *ret_epoch)
{
	const cJSON *entry;
	uint64_t place = 0;
	bool found = false;

	cJSON_ArrayForEach(entry, list) {
		const uint64_t epoch = epoch_of(entry, ++place);
		const double value = json_number(entry, objective->member, NAN);

		if (isnan(value) || (epochs && epoch > epochs) ||
		    (found && (objective->maximize ? value <= *ret_value : value >= *ret_value)))
			continue;
		*ret_value = value;
		*ret_epoch = epoch;
		found = true;
	}
	return found;
}

bool objective_best(const struct objective *objective, const cJSON *record, uint64_t epochs,
		    double *ret_value, uint64_t *ret_epoch)
{
	double value;

	if (!objective->test)
		return best_epoch(objective, cJSON_GetObjectItemCaseSensitive(record, "epochs"), epochs,
				  ret_value, ret_epoch);
	value = json_number(json_member(record, "metrics.test"), objective->member, NAN);
	if (isnan(value))
		return false;
	*ret_value = value;
	*ret_epoch = 0;
	return true;
}

static cJSON *value_of(const cJSON *entry, const char *key)
{
	const double value = json_number(entry, key, NAN);
	char text[32];

	if (!isfinite(value))
		return cJSON_CreateNull();
	(void)snprintf(text, sizeof(text), "%.6g", value);
	return cJSON_CreateNumber(strtod(text, NULL));
}

static bool add_point(cJSON *curve, uint64_t epoch, cJSON *value)
{
	cJSON *point = cJSON_CreateArray();

	return cJSON_AddItemToArray(curve, point) &&
	       cJSON_AddItemToArray(point, cJSON_CreateNumber((double)epoch)) &&
	       cJSON_AddItemToArray(point, value);
}

cJSON *objective_curve(const struct objective *objective, const cJSON *record)
{
	const cJSON *list = objective->test ? NULL : cJSON_GetObjectItemCaseSensitive(record, "epochs");
	const uint64_t entries = (uint64_t)cJSON_GetArraySize(list), last = OBJECTIVE_POINTS_MAX - 1;
	CLEANUP(json_free) cJSON *curve = cJSON_CreateArray();
	bool good = curve;
	const cJSON *entry;
	uint64_t place = 0, points = 0;

	cJSON_ArrayForEach(entry, list) {
		if (entries > OBJECTIVE_POINTS_MAX && place < points * (entries - 1) / last) {
			place++;
			continue;
		}
		points++;
		place++;
		good = good && add_point(curve, epoch_of(entry, place), value_of(entry, objective->member));
	}
	return good ? TAKE(curve) : NULL;
}
