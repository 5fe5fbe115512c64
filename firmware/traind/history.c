/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/history.h"

#include <math.h>
#include <stdio.h>

#define NUMBER_MAX 9007199254740992.0

uint64_t history_passes(const struct cursor *cursor, uint64_t epochs, enum split split)
{
	if (cursor->ended || cursor->split == SPLIT_TEST)
		return epochs;
	return cursor->segment + (split == SPLIT_TRAIN && cursor->split == SPLIT_VALIDATION);
}

static cJSON *detach(cJSON *record, const char *key, cJSON *otherwise)
{
	cJSON *found = cJSON_DetachItemFromObjectCaseSensitive(record, key);

	if (!found)
		return otherwise;
	cJSON_Delete(otherwise);
	return found;
}

int history_load(struct history *history, cJSON *record, uint64_t passes, struct error *err)
{
	history->epochs = detach(record, "epochs", cJSON_CreateArray());
	history->metrics = detach(record, "metrics", cJSON_CreateObject());
	if (!cJSON_IsArray(history->epochs) || !cJSON_IsObject(history->metrics))
		return error_set(err, -EBADMSG,
				 "run.json: epochs or metrics: expected an array and an object");
	while ((uint64_t)cJSON_GetArraySize(history->epochs) > passes)
		cJSON_DeleteItemFromArray(history->epochs, cJSON_GetArraySize(history->epochs) - 1);
	return 0;
}

void history_close(struct history *history)
{
	cJSON_Delete(history->epochs);
	cJSON_Delete(history->metrics);
	history->epochs = history->metrics = NULL;
}

bool history_set_number(cJSON *object, const char *key, double value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, key);
	return cJSON_AddNumberToObject(object, key, fmin(value, NUMBER_MAX));
}

/* Sets the metrics that the loss has, each key with `prefix` before it, as Keras names validation metrics. */
static bool set_figures(const struct history *history, cJSON *object, const char *prefix,
			const struct model_metrics *metrics)
{
	const struct {
		const char *name;
		double value;
	} figures[] = { { "loss", metrics->loss },
			{ "accuracy", metrics->accuracy },
			{ "top_k_accuracy", metrics->top_k } };
	const size_t count = history->top_k ? 3 : 2;
	bool done = true;
	char key[48];

	for (size_t i = 0; done && i < count; i++) {
		if (isnan(figures[i].value))
			continue;
		(void)snprintf(key, sizeof(key), "%s%s", prefix, figures[i].name);
		done = history_set_number(object, key, figures[i].value);
	}
	return done;
}

static bool set_metrics(struct history *history, const struct history_pass *pass)
{
	const char *split = split_name(pass->split);
	cJSON *member;

	cJSON_DeleteItemFromObjectCaseSensitive(history->metrics, split);
	member = cJSON_AddObjectToObject(history->metrics, split);
	return member && set_figures(history, member, "", pass->metrics) &&
	       json_add_u64(member, "rows", pass->metrics->rows);
}

static bool add_epoch(struct history *history, const struct history_pass *pass)
{
	cJSON *entry = cJSON_CreateObject();

	return cJSON_AddItemToArray(history->epochs, entry) && json_add_u64(entry, "epoch", pass->epoch) &&
	       json_add_u64(entry, "step", pass->step) && set_figures(history, entry, "", pass->metrics) &&
	       history_set_number(entry, "learning_rate", pass->learning_rate);
}

bool history_add(struct history *history, const struct history_pass *pass)
{
	cJSON *last;

	if (!set_metrics(history, pass))
		return false;
	if (pass->split == SPLIT_TRAIN)
		return add_epoch(history, pass);
	last = cJSON_GetArrayItem(history->epochs, cJSON_GetArraySize(history->epochs) - 1);
	if (pass->split == SPLIT_TEST || !last)
		return true;
	return set_figures(history, last, "validation_", pass->metrics);
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

struct callbacks_figures history_figures(const struct history *history, uint64_t epoch)
{
	const cJSON *entry = cJSON_GetArrayItem(history->epochs, (int)epoch);

	return (struct callbacks_figures){
		.loss = number(entry, "loss"),
		.accuracy = number(entry, "accuracy"),
		.validation_loss = number(entry, "validation_loss"),
		.validation_accuracy = number(entry, "validation_accuracy"),
	};
}
