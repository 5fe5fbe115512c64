/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/outcome.h"

#include "core/base/events.h"
#include "core/series/series.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

static const char *const names[] = { "promoted", "kept", "refused" };

/* ---- JSON ---- */

static bool add_figures(cJSON *test, const char *key, const struct judge_figures *figures, const char *run_id)
{
	cJSON *object = cJSON_AddObjectToObject(test, key);

	return object && (!run_id || cJSON_AddStringToObject(object, "run_id", run_id)) &&
	       cJSON_AddNumberToObject(object, "loss", figures->loss) &&
	       (isnan(figures->accuracy) || cJSON_AddNumberToObject(object, "accuracy", figures->accuracy));
}

cJSON *outcome_test(const struct judgement *judgement, const struct judge_wish *wish, double min_gain,
		    const char *champion)
{
	const struct paired *paired = &judgement->paired;
	CLEANUP(json_free) cJSON *test = cJSON_CreateObject();

	if (cJSON_AddStringToObject(test, "method", paired->method) &&
	    cJSON_AddStringToObject(test, "metric", wish->accuracy ? "accuracy" : "loss") &&
	    cJSON_AddNumberToObject(test, "gain", paired->gain) &&
	    cJSON_AddNumberToObject(test, "low", paired->low) &&
	    cJSON_AddNumberToObject(test, "high", paired->high) &&
	    cJSON_AddNumberToObject(test, "p", paired->p) && json_add_u64(test, "rows", paired->rows) &&
	    json_add_u64(test, "left_out", judgement->left_out) && json_add_u64(test, "won", paired->won) &&
	    json_add_u64(test, "lost", paired->lost) && json_add_u64(test, "seed", paired->seed) &&
	    json_add_u64(test, "resamples", paired->resamples) &&
	    cJSON_AddNumberToObject(test, "min_gain", min_gain) &&
	    add_figures(test, "model", &judgement->model, NULL) &&
	    add_figures(test, "champion", &judgement->champion, champion))
		return TAKE(test);
	return NULL;
}

static cJSON *print(const struct promotion *promotion, const struct champion *champion)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();

	if (!cJSON_AddStringToObject(json, "outcome", names[promotion->outcome]) ||
	    !cJSON_AddStringToObject(json, "why", promotion->why) ||
	    !json_add_u64(json, "at_s", (uint64_t)time(NULL)) ||
	    (promotion->number && !json_add_u64(json, "number", promotion->number)) ||
	    (champion->record && !cJSON_AddStringToObject(json, "champion", champion->run_id)) ||
	    (promotion->test && !cJSON_AddItemToObject(json, "test", cJSON_Duplicate(promotion->test, true))))
		return NULL;
	return TAKE(json);
}

/* ---- Notes ---- */

static int put(const struct winner *winner, const char *key, const char *text, struct error *err)
{
	const struct store_options options = store_options_of(&winner->config);
	CLEANUP(store_closep) struct store *store = NULL;
	int r = store_open(&winner->config.sink, &options, &store, err);

	return r < 0 ? r : store_put_checked(store, key, text, strlen(text), NULL, err);
}

static bool is_current(const struct winner *winner)
{
	struct run run = { 0 };
	bool current = run_load(&run, NULL) == 0 && strcmp(run.id, winner->run_id) == 0;

	run_done(&run);
	return current;
}

static int note_run(const struct winner *winner, const cJSON *promotion, struct error *err)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL, *json = NULL;
	const bool current = is_current(winner);
	char key[RUN_ID_BYTES + 16];
	int r;

	if (!cJSON_AddItemReferenceToObject(note, "promotion", (cJSON *)(uintptr_t)promotion))
		return error_set(err, -ENOMEM, "run.json: no memory");
	if ((r = json_print(note, &text, err)) < 0)
		return r;
	r = current ? run_note(text, err) : run_note_archived(winner->run_id, text, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = current ? run_json(&json, err) : run_json_archived(winner->run_id, &json, err);
	(void)snprintf(key, sizeof(key), "%s/run.json", winner->run_id);
	return r < 0 ? r : put(winner, key, json, err);
}

static int note_series(const struct winner *winner, const cJSON *promotion, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[SERIES_KEY_BYTES];
	int r;

	if (!winner->series)
		return 0;
	if (!series_set(winner->series, "promotion", cJSON_Duplicate(promotion, true)))
		return error_set(err, -ENOMEM, "series.json: no memory");
	if ((r = series_write(winner->series, err)) < 0 || (r = json_print(winner->series, &text, err)) < 0)
		return r;
	return put(winner, series_key(winner_series(winner), key), text, err);
}

void outcome_say(const struct promotion *promotion, const struct winner *winner)
{
	const char *who = *winner->run_id ? winner->run_id : winner_series(winner);

	switch (promotion->outcome) {
	case OUTCOME_PROMOTED:
		event_send(&(struct event){ .id = EVENT_MODEL_PROMOTED,
					    .run_id = winner->run_id,
					    .url = winner->config.sink.url,
					    .count = promotion->number },
			   "%s: promoted: it is champion %" PRIu64 " of %s: %s", winner->run_id,
			   promotion->number, winner->config.run.name, promotion->why);
		break;
	case OUTCOME_KEPT:
		event_send(&(struct event){ .id = EVENT_MODEL_KEPT, .run_id = winner->run_id },
			   "%s: not promoted, the champion stays: %s", winner->run_id, promotion->why);
		break;
	case OUTCOME_REFUSED:
		event_send(&(struct event){ .id = EVENT_MODEL_REFUSED, .run_id = winner->run_id },
			   "%s: not promoted, because it cannot be judged: %s", who, promotion->why);
		break;
	}
}

bool outcome_is_noted(const cJSON *series, const cJSON *record)
{
	return cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(series ? series : record, "promotion"));
}

int outcome_note(const struct promotion *promotion, const struct winner *winner,
		 const struct champion *champion, struct error *err)
{
	CLEANUP(json_free) cJSON *json = print(promotion, champion);
	int r;

	if (!json)
		return error_set(err, -ENOMEM, "no memory for the outcome of a promotion");
	r = winner->record ? note_run(winner, json, err) : 0;
	return r < 0 ? r : note_series(winner, json, err);
}
