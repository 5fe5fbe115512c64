/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/install.h"

#include "core/base/url.h"
#include "core/base/version.h"
#include "core/series/series.h"
#include "drivers/notify/notify.h"
#include "oneshot/promote/copies.h"

#include <string.h>
#include <time.h>

/* ---- The champion's record ---- */

/* Tells whether a trial lost: it has a value of the objective, and is not the winner. */
static bool has_lost(const struct winner *winner, const cJSON *trial)
{
	return cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(trial, "value")) &&
	       strcmp(series_text(trial, "name"), winner->trial) != 0;
}

static bool add_lost(cJSON *record, const struct installing *installing)
{
	const struct winner *winner = installing->winner;
	cJSON *lost = cJSON_AddArrayToObject(record, "lost");
	bool done = lost;

	for (uint32_t i = 0; done && winner->series && i < series_trials(winner->series); i++) {
		const cJSON *trial = series_trial(winner->series, i);

		if (has_lost(winner, trial))
			done = cJSON_AddItemToArray(lost, cJSON_CreateString(series_text(trial, "name")));
	}
	if (done && installing->champion->record)
		done = cJSON_AddItemToArray(lost, cJSON_CreateString(installing->champion->run_id));
	return done;
}

static bool add_copy(cJSON *record, const char *key, const cJSON *item)
{
	return cJSON_AddItemToObject(record, key, item ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
}

static int make_record(const struct installing *installing, const struct copies *copies, cJSON **ret_record,
		       struct error *err)
{
	const struct winner *winner = installing->winner;
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	int r;

	if (!json_add_u64(record, "version", CHAMPION_VERSION) ||
	    !cJSON_AddStringToObject(record, "name", winner->config.run.name) ||
	    !json_add_u64(record, "number", copies->number) ||
	    !cJSON_AddStringToObject(record, "kiln_version", KILN_VERSION) ||
	    !cJSON_AddStringToObject(record, "run_id", winner->run_id) ||
	    !cJSON_AddStringToObject(record, "series", winner_series(winner)) ||
	    !cJSON_AddStringToObject(record, "trial", winner->trial) ||
	    !json_add_u64(record, "promoted_s", (uint64_t)installing->promotion->at_s) ||
	    !add_copy(record, "metrics", cJSON_GetObjectItemCaseSensitive(winner->record, "metrics")) ||
	    !add_copy(record, "test", installing->promotion->test) || !add_lost(record, installing) ||
	    !json_add_u64(record, "before", installing->champion->record ? installing->champion->number : 0))
		return error_set(err, -ENOMEM, "no memory for the record of a champion");
	r = copies_json(copies, record, err);
	if (r == 0)
		*ret_record = TAKE(record);
	return r;
}

/* ---- Its files ---- */

/* Opens the folder `model` of the winner's run. */
static int open_model_folder(const struct installing *installing, struct store **ret_store, struct error *err)
{
	const struct winner *winner = installing->winner;
	const struct store_options options = store_options_of(&winner->config);
	struct config_store where = installing->merge->from;
	char url[PATH_BYTES];

	where.url = url_below(url, sizeof(url), winner->config.sink.url, "%s/model", winner->run_id);
	return store_open(&where, &options, ret_store, err);
}

static int copy(const struct installing *installing, struct store *models, struct error *err)
{
	CLEANUP(store_closep) struct store *model = NULL;
	CLEANUP(copies_done) struct copies copies = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	uint64_t number;
	int r;

	installing->promotion->at_s = time(NULL);
	if ((r = open_model_folder(installing, &model, err)) < 0 ||
	    (r = champion_take_number(models, installing->champion, installing->winner->run_id, &number,
				      err)) < 0 ||
	    (r = copies_of_run(model, number, &copies, err)) < 0 ||
	    (r = copies_make(&copies, model, models, err)) < 0 ||
	    (r = make_record(installing, &copies, &record, err)) < 0 ||
	    (r = champion_put(models, record, number, err)) < 0)
		return r;
	installing->promotion->number = number;
	return 0;
}

/* What the winner's branch has. */
enum found { FOUND_BEFORE, FOUND_BEGUN, FOUND_ANOTHER };

/* Looks which champion the winner's branch has: the one so far; this one, where a kill came before it was
 * merged; or another one, which was merged during the judgement. Without branches it is the one so far. */
static int find(const struct installing *installing, struct store *models, enum found *ret_found,
		struct error *err)
{
	const struct champion *before = installing->champion;
	const uint64_t number = before->record ? before->number : 0;
	CLEANUP(champion_done) struct champion found = { 0 };
	int r = installing->merge->branches ? champion_get(models, &found, err) : 0;

	if (r < 0)
		return r;
	*ret_found = FOUND_BEFORE;
	if (!installing->merge->branches || (found.record ? found.number : 0) == number)
		return 0;
	*ret_found = FOUND_ANOTHER;
	if (found.before != number || strcmp(found.run_id, installing->winner->run_id) != 0)
		return 0;
	*ret_found = FOUND_BEGUN;
	installing->promotion->number = found.number;
	installing->promotion->at_s = champion_promoted_s(&found);
	return 0;
}

int install_model(const struct installing *installing, struct error *err)
{
	CLEANUP(store_closep) struct store *models = NULL;
	enum found found;
	int r;

	notify_status("copying %s", installing->winner->run_id);
	if ((r = champion_store(&installing->winner->config, &installing->merge->from, &models, err)) < 0 ||
	    (r = find(installing, models, &found, err)) < 0)
		return r;
	return found == FOUND_BEFORE ? copy(installing, models, err) : found == FOUND_ANOTHER;
}
