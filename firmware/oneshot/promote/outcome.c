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
	    !json_add_u64(json, "at_s", (uint64_t)promotion->at_s) ||
	    (promotion->number && !json_add_u64(json, "number", promotion->number)) ||
	    (champion->record && !cJSON_AddStringToObject(json, "champion", champion->run_id)) ||
	    (promotion->test && !cJSON_AddItemToObject(json, "test", cJSON_Duplicate(promotion->test, true))))
		return NULL;
	return TAKE(json);
}

/* ---- Notes ---- */

static int put(const struct winner *winner, const struct config_store *where, const char *key,
	       const char *text, struct error *err)
{
	const struct store_options options = store_options_of(&winner->config);
	CLEANUP(store_closep) struct store *store = NULL;
	int r = store_open(where, &options, &store, err);

	return r < 0 ? r : store_put_checked(store, key, text, strlen(text), NULL, err);
}

static bool is_current(const struct winner *winner)
{
	struct run run = { 0 };
	bool current = run_load(&run, NULL) == 0 && strcmp(run.id, winner->run_id) == 0;

	run_done(&run);
	return current;
}

/* Puts a copy of a record, with the outcome as its member "promotion", into the store. */
static int put_with(const struct winner *winner, const struct config_store *where, const char *key,
		    const cJSON *record, const cJSON *promotion, struct error *err)
{
	CLEANUP(json_free) cJSON *copy = cJSON_Duplicate(record, true);
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!copy || !series_set(copy, "promotion", cJSON_Duplicate(promotion, true)))
		return error_set(err, -ENOMEM, "%s: no memory", key);
	r = json_print(copy, &text, err);
	return r < 0 ? r : put(winner, where, key, text, err);
}

static int put_run(const struct winner *winner, const struct config_store *where, const cJSON *promotion,
		   struct error *err)
{
	char key[RUN_ID_BYTES + 16];

	(void)snprintf(key, sizeof(key), "%s/run.json", winner->run_id);
	return put_with(winner, where, key, winner->record, promotion, err);
}

static int put_series(const struct winner *winner, const struct config_store *where, const cJSON *promotion,
		      struct error *err)
{
	char key[SERIES_KEY_BYTES];

	return winner->series ? put_with(winner, where, series_key(winner_series(winner), key),
					 winner->series, promotion, err)
			      : 0;
}

/* Notes in the winner's run.json. Returns 1 where this disk has the record, 0 where not. */
static int note_run(const struct winner *winner, const cJSON *promotion, struct error *err)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!cJSON_AddItemReferenceToObject(note, "promotion", (cJSON *)(uintptr_t)promotion))
		return error_set(err, -ENOMEM, "run.json: no memory");
	if ((r = json_print(note, &text, err)) < 0)
		return r;
	r = is_current(winner) ? run_note(text, err) : run_note_archived(winner->run_id, text, err);
	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

static bool leaves_branches(const struct promotion *promotion, const struct winner *winner)
{
	return promotion->outcome != OUTCOME_REFUSED && versions_has_branches(&winner->config.sink) &&
	       winner->config.branches.keep != KEEP_ALL;
}

static int note_series(const struct winner *winner, const struct promotion *promotion, const cJSON *json,
		       struct error *err)
{
	/* A model that was not merged is on the winner's branch alone. */
	const bool stays =
		winner->config.branches.keep == KEEP_WINNER || promotion->outcome != OUTCOME_PROMOTED;
	const char *kept = stays ? winner->run_id : "";

	if (!winner->series)
		return 0;
	if (!series_set(winner->series, "promotion", cJSON_Duplicate(json, true)) ||
	    (leaves_branches(promotion, winner) &&
	     !series_set(winner->series, OUTCOME_BRANCHES_LEFT, cJSON_CreateString(kept))))
		return error_set(err, -ENOMEM, "series.json: no memory");
	return series_write(winner->series, err);
}

/* Adds what was merged when this champion was promoted before: its branch is gone, so nothing was merged now.
 */
static bool add_merged_before(cJSON *json, const struct promotion *promotion, const cJSON *record)
{
	const cJSON *merged = json_member(record, "promotion.merged");
	const double number = json_number(record, "promotion.number", 0);

	return !merged || promotion->number == 0 || number != (double)promotion->number ||
	       cJSON_AddItemToObject(json, "merged", cJSON_Duplicate(merged, true));
}

static bool add_merged(cJSON *promotion, const struct merge *merge)
{
	char into[CONFIG_REF_MAX + 1];
	cJSON *merged;

	merged = cJSON_AddObjectToObject(promotion, "merged");
	return cJSON_AddStringToObject(merged, "into", versions_branch_of(&merge->into, into)) &&
	       cJSON_AddStringToObject(merged, "commit", merge->commit) &&
	       cJSON_AddStringToObject(merged, "tag", merge->tag);
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
			   "%s: not promoted, because it cannot be %s: %s", who,
			   promotion->unmerged ? "merged" : "judged", promotion->why);
		break;
	}
}

bool outcome_is_noted(const cJSON *series, const cJSON *record)
{
	return cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(series ? series : record, "promotion"));
}

const char *outcome_left_branches(const cJSON *record)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(record, OUTCOME_BRANCHES_LEFT));
}

int outcome_put(const struct promotion *promotion, const struct winner *winner,
		const struct champion *champion, const struct merge *merge, struct error *err)
{
	CLEANUP(json_free) cJSON *json = print(promotion, champion);
	int r;

	if (!merge->branches)
		return 0;
	if (!json)
		return error_set(err, -ENOMEM, "no memory for the outcome of a promotion");
	r = put_run(winner, &merge->from, json, err);
	return r < 0 ? r : put_series(winner, &merge->from, json, err);
}

int outcome_note(const struct promotion *promotion, const struct winner *winner,
		 const struct champion *champion, const struct merge *merge, struct error *err)
{
	const struct config_store *sink = &winner->config.sink;
	CLEANUP(json_free) cJSON *json = print(promotion, champion);
	int r, here = 0;

	if (!json || !(promotion->outcome == OUTCOME_PROMOTED && *merge->commit
			       ? add_merged(json, merge)
			       : add_merged_before(json, promotion, winner->record)))
		return error_set(err, -ENOMEM, "no memory for the outcome of a promotion");
	if ((winner->record && (here = note_run(winner, json, err)) < 0) ||
	    (here && !versions_has_branches(sink) && (here = put_run(winner, sink, json, err)) < 0))
		return here;
	r = note_series(winner, promotion, json, err);
	return r < 0 || versions_has_branches(sink) ? r : put_series(winner, sink, json, err);
}
