/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/history.h"

#include <math.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NUMBER_MAX   9007199254740992.0

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

/* ---- The list of epochs ---- */

/* Returns the number of an epoch, counted from 0. The record may come from outside: 0 for a number that is
 * none. */
static uint64_t number_of(const cJSON *entry)
{
	const double found = json_number(entry, "epoch", NAN);

	return found >= 0 && found < NUMBER_MAX ? (uint64_t)found : 0;
}

static cJSON *last_of(const cJSON *epochs)
{
	return cJSON_GetArrayItem(epochs, cJSON_GetArraySize(epochs) - 1);
}

const cJSON *history_from(const cJSON *epochs, uint64_t epoch, uint64_t *ret_number)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, epochs) {
		*ret_number = number_of(entry);
		if (*ret_number >= epoch)
			return entry;
	}
	return NULL;
}

#define EXTREMES (2 * COUNT(compared))
static const char *const compared[] = { "loss", "accuracy", "validation_loss", "validation_accuracy" };

/* Finds the epochs with the smallest and the largest of each figure; NULL where no epoch has the figure. */
static void find_extremes(const cJSON *epochs, const cJSON *ret_found[static EXTREMES])
{
	const cJSON *entry;

	for (size_t i = 0; i < COUNT(compared); i++) {
		const cJSON **least = &ret_found[2 * i], **most = &ret_found[2 * i + 1];

		*least = *most = NULL;
		cJSON_ArrayForEach(entry, epochs) {
			const double value = json_number(entry, compared[i], NAN);

			if (isnan(value))
				continue;
			if (!*least || value < json_number(*least, compared[i], NAN))
				*least = entry;
			if (!*most || value > json_number(*most, compared[i], NAN))
				*most = entry;
		}
	}
}

static bool has(const cJSON *const *found, size_t count, const cJSON *entry)
{
	for (size_t i = 0; i < count; i++)
		if (found[i] == entry)
			return true;
	return false;
}

static void thin(cJSON *epochs)
{
	const cJSON *kept[EXTREMES];
	cJSON *entry, *next;
	bool drop = false;

	find_extremes(epochs, kept);
	for (entry = epochs->child; entry; entry = next, drop = !drop) {
		next = entry->next;
		if (drop && next && !has(kept, EXTREMES, entry))
			cJSON_Delete(cJSON_DetachItemViaPointer(epochs, entry));
	}
}

/* ---- Load and add ---- */

int history_load(struct history *history, cJSON *record, uint64_t passes, struct error *err)
{
	cJSON *last;

	history->epochs = detach(record, "epochs", cJSON_CreateArray());
	history->metrics = detach(record, "metrics", cJSON_CreateObject());
	if (!cJSON_IsArray(history->epochs) || !cJSON_IsObject(history->metrics))
		return error_set(err, -EBADMSG,
				 "run.json: epochs or metrics: expected an array and an object");
	while ((last = last_of(history->epochs)) && number_of(last) >= passes)
		cJSON_Delete(cJSON_DetachItemViaPointer(history->epochs, last));
	while (cJSON_GetArraySize(history->epochs) > HISTORY_EPOCHS_MAX)
		thin(history->epochs);
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

	if (cJSON_GetArraySize(history->epochs) >= HISTORY_EPOCHS_MAX)
		thin(history->epochs);
	return cJSON_AddItemToArray(history->epochs, entry) && json_add_u64(entry, "epoch", pass->epoch) &&
	       json_add_u64(entry, "step", pass->step) && json_add_u64(entry, "at_ms", pass->at_ms) &&
	       set_figures(history, entry, "", pass->metrics) &&
	       history_set_number(entry, "learning_rate", pass->learning_rate);
}

bool history_add(struct history *history, const struct history_pass *pass)
{
	cJSON *last;

	if (!set_metrics(history, pass))
		return false;
	if (pass->split == SPLIT_TRAIN)
		return add_epoch(history, pass);
	last = last_of(history->epochs);
	if (pass->split == SPLIT_TEST || !last)
		return true;
	return set_figures(history, last, "validation_", pass->metrics);
}

struct callbacks_figures history_figures(const struct history *history, uint64_t epoch)
{
	uint64_t found = epoch;
	const cJSON *entry = history_from(history->epochs, epoch, &found);

	if (found != epoch)
		entry = NULL;
	return (struct callbacks_figures){
		.loss = json_number(entry, "loss", NAN),
		.accuracy = json_number(entry, "accuracy", NAN),
		.validation_loss = json_number(entry, "validation_loss", NAN),
		.validation_accuracy = json_number(entry, "validation_accuracy", NAN),
	};
}
