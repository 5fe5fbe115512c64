/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/compared.h"

#include "core/series/series.h"
#include "core/series/settings.h"

#include <math.h>
#include <string.h>

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---- The objective ---- */

double compared_value(const cJSON *trial)
{
	return json_number(trial, "value", NAN);
}

bool compared_minimizes(const cJSON *series)
{
	return strcmp(series_text(series, "direction"), "min") == 0;
}

bool compared_is_share(const cJSON *series)
{
	return strstr(series_text(series, "objective"), "accuracy") != NULL;
}

const char *compared_objective(const cJSON *series, char out[static COMPARED_WORDS_BYTES])
{
	char *point;

	(void)snprintf(out, COMPARED_WORDS_BYTES, "%s", series_text(series, "objective"));
	while ((point = strpbrk(out, "._")))
		*point = ' ';
	return out;
}

const char *compared_test(const cJSON *series)
{
	const cJSON *trial;

	cJSON_ArrayForEach(trial, member(series, "trials"))
		if (cJSON_IsNumber(json_member(trial, "summary.test_accuracy")))
			return "test_accuracy";
	return "test_loss";
}

bool compared_is_winner(const struct compared *compared, const cJSON *trial)
{
	const char *winner = series_text(compared->series, "winner");

	return *winner && strcmp(winner, series_text(trial, "name")) == 0;
}

/* ---- Order ---- */

/* A trial without a value is worse than every other. */
static bool is_better(const struct compared *compared, const cJSON *a, const cJSON *b)
{
	const double x = compared_value(a), y = compared_value(b);

	if (isnan(x) || isnan(y))
		return !isnan(x) && isnan(y);
	return compared_minimizes(compared->series) ? x < y : x > y;
}

/* Inserts a trial behind those that are as good. */
static void insert(struct compared *compared, const cJSON *trial)
{
	uint32_t at = compared->trials++;

	for (; at > 0 && is_better(compared, trial, compared->trial[at - 1]); at--)
		compared->trial[at] = compared->trial[at - 1];
	compared->trial[at] = trial;
}

/* ---- Settings ---- */

const cJSON *compared_setting(const struct compared *compared, const cJSON *trial, const char *key)
{
	const cJSON *value = member(member(trial, "overrides"), key);

	return value ? value : member(compared->base, key);
}

static bool has_key(const struct compared *compared, const char *key)
{
	for (uint32_t i = 0; i < compared->keys; i++)
		if (strcmp(compared->key[i], key) == 0)
			return true;
	return false;
}

static bool differs(const struct compared *compared, const char *key)
{
	const cJSON *first = compared_setting(compared, compared->trial[0], key);

	for (uint32_t i = 1; i < compared->trials; i++) {
		const cJSON *value = compared_setting(compared, compared->trial[i], key);

		if (value != first && !cJSON_Compare(value, first, true))
			return true;
	}
	return false;
}

static int find_keys(struct compared *compared)
{
	const cJSON *trial, *override;

	cJSON_ArrayForEach(trial, member(compared->series, "trials"))
		cJSON_ArrayForEach(override, member(trial, "overrides")) {
			const char **grown;

			if (!override->string || has_key(compared, override->string) ||
			    !differs(compared, override->string))
				continue;
			grown = reallocarray(compared->key, compared->keys + 1, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			compared->key = grown;
			compared->key[compared->keys++] = override->string;
		}
	return 0;
}

void compared_prepare(cJSON *series)
{
	cJSON *settings = NULL;

	if (settings_of(series_text(series, "config"), &settings, NULL) < 0)
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(series, "config");
	(void)cJSON_AddItemToObject(series, "settings", settings);
}

int compared_make(const cJSON *series, struct compared *ret, struct error *err)
{
	CLEANUP(compared_done) struct compared compared = { .series = series };
	const cJSON *trials = member(series, "trials"), *trial;

	compared.trial = calloc((size_t)cJSON_GetArraySize(trials) + 1, sizeof(const cJSON *));
	if (!compared.trial)
		return error_set(err, -ENOMEM, "no memory for the trials of a series");
	cJSON_ArrayForEach(trial, trials)
		insert(&compared, trial);
	compared.base = member(series, "settings");
	if (find_keys(&compared) < 0)
		return error_set(err, -ENOMEM, "no memory for the settings of a series");
	*ret = compared;
	compared = (struct compared){ 0 };
	return 0;
}

void compared_done(struct compared *compared)
{
	free((void *)compared->trial);
	free((void *)compared->key);
	*compared = (struct compared){ 0 };
}
