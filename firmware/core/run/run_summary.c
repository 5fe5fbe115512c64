/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/run_summary.h"

#include <stddef.h>

#define EPOCH_MAX    9e15 /* a number that a double holds exactly */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Copies a member where it exists and is no JSON null. Returns false where memory is short. */
static bool copy(cJSON *row, const char *as, const cJSON *object, const char *key)
{
	const cJSON *item = member(object, key);

	return !item || cJSON_IsNull(item) || cJSON_AddItemToObject(row, as, cJSON_Duplicate(item, false));
}

uint64_t run_epochs_done(const cJSON *epochs)
{
	const int count = cJSON_GetArraySize(epochs);
	const cJSON *last = member(cJSON_GetArrayItem(epochs, count - 1), "epoch");

	/* A record of an earlier version or of a test may not say the number; then each epoch is there. */
	if (!cJSON_IsNumber(last) || !(last->valuedouble >= count && last->valuedouble < EPOCH_MAX))
		return (uint64_t)count;
	return (uint64_t)last->valuedouble + 1;
}

static bool copy_figures(cJSON *row, const cJSON *record)
{
	static const char *const keys[] = { "loss", "accuracy", "validation_loss", "validation_accuracy" };
	const cJSON *epochs = member(record, "epochs"), *test = member(member(record, "metrics"), "test");
	const int count = cJSON_GetArraySize(epochs);
	bool good = json_add_u64(row, "epochs", run_epochs_done(epochs));

	for (size_t i = 0; i < COUNT(keys); i++)
		good = good && copy(row, keys[i], cJSON_GetArrayItem(epochs, count - 1), keys[i]);
	return good && copy(row, "test_loss", test, "loss") && copy(row, "test_accuracy", test, "accuracy");
}

static bool add_took(cJSON *row, const cJSON *time)
{
	static const char *const stages[] = { "starting_s",   "waiting_s",     "training_s",
					      "evaluating_s", "checkpoints_s", "paused_s" };
	double took_s = 0;

	if (!cJSON_IsObject(time))
		return true;
	for (size_t i = 0; i < COUNT(stages); i++)
		if (cJSON_IsNumber(member(time, stages[i])))
			took_s += member(time, stages[i])->valuedouble;
	return cJSON_AddNumberToObject(row, "took_s", took_s);
}

cJSON *run_summary(const cJSON *record)
{
	static const char *const keys[] = { "id", "state", "started_s" };
	CLEANUP(json_free) cJSON *row = cJSON_CreateObject();
	bool good = row;

	for (size_t i = 0; i < COUNT(keys); i++)
		good = good && copy(row, keys[i], record, keys[i]);
	return good && add_took(row, member(record, "time")) && copy_figures(row, record) ? TAKE(row) : NULL;
}
