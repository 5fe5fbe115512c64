/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/rollback.h"

#include "core/base/events.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/promote/copies.h"
#include "oneshot/promote/merge.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

/* Makes the record of the next number from that of the former champion. */
static int make_record(const struct champion *former, const struct champion *gone,
		       const struct copies *copies, cJSON **ret_record, struct error *err)
{
	static const char *const replaced[] = { "number", "promoted_s",  "files", "saved_model",
						"onnx",   "rolled_back", "kiln" };
	CLEANUP(json_free) cJSON *record = cJSON_Duplicate(former->record, true);
	int r;

	for (size_t i = 0; record && i < sizeof(replaced) / sizeof(replaced[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(record, replaced[i]);
	if (!json_add_u64(record, "number", copies->number) ||
	    !json_add_u64(record, "promoted_s", (uint64_t)time(NULL)) ||
	    !json_add_u64(record, "rolled_back", gone->number))
		return error_set(err, -ENOMEM, "no memory for the record of a champion");
	r = copies_json(copies, record, err);
	if (r == 0)
		*ret_record = TAKE(record);
	return r;
}

static int bring_back(struct store *models, const struct config_store *sink, const struct champion *gone,
		      const struct config *config, struct error *err)
{
	CLEANUP(champion_done) struct champion former = { 0 };
	CLEANUP(copies_done) struct copies copies = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	uint64_t number;
	int r;

	if ((r = champion_get_former(models, gone->before, &former, err)) < 0 ||
	    (r = champion_take_number(models, gone, former.run_id, &number, err)) < 0 ||
	    (r = copies_of_champion(&former, number, &copies, err)) < 0 ||
	    (r = copies_make(&copies, models, models, err)) < 0 ||
	    (r = make_record(&former, gone, &copies, &record, err)) < 0 ||
	    (r = champion_put(models, record, copies.number, err)) < 0 ||
	    (r = merge_rollback(config, sink, copies.number, gone->number, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_MODEL_RESTORED,
				    .run_id = former.run_id,
				    .url = store_url(models),
				    .count = copies.number },
		   "%s: champion %" PRIu64 " of %s again, in place of %s", former.run_id, copies.number,
		   config->run.name, gone->run_id);
	champion_track(config, models, former.run_id, copies.number);
	return EX_OK;
}

static int refuse(const char *name, const struct champion *champion, const char *why)
{
	event_send(&(struct event){ .id = EVENT_MODEL_REFUSED, .run_id = champion->run_id },
		   "%s: %s, so none comes back", name, why);
	return EX_DATAERR;
}

/* Gets the champion of the newest commit: what an earlier rollback has put there, and could not commit, does
 * not count. */
static int get_champion(const struct config *config, const struct config_store *sink,
			struct champion *ret_champion, struct error *err)
{
	CLEANUP(store_closep) struct store *models = NULL;
	struct config_store committed = *sink;
	int r = merge_newest(config, &committed, err);

	if (r < 0 || (r = champion_store(config, &committed, &models, err)) < 0)
		return r;
	return champion_get(models, ret_champion, err);
}

int rollback(struct promote_request *request, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(store_closep) struct store *models = NULL;
	CLEANUP(champion_done) struct champion champion = { 0 };
	struct config_store sink;
	int r;

	if ((r = config_load(config_path(0, NULL), &config, err)) < 0)
		return r;
	sink = versions_merge_target(&config);
	if ((r = champion_store(&config, &sink, &models, err)) < 0 ||
	    (r = get_champion(&config, &sink, &champion, err)) < 0)
		return r;
	if (!champion.record || !champion.before)
		return refuse(config.run.name, &champion,
			      champion.record ? "the champion has no champion before it"
					      : "there is no champion");
	if (request->from && request->from != champion.number) { /* the former one came back before a kill */
		champion_track(&config, models, champion.run_id, champion.number);
		r = merge_rollback(&config, &sink, champion.number, request->from, err);
		return r < 0 ? r : EX_OK;
	}
	if (!request->from) {
		request->from = champion.number;
		if ((r = promote_request_put(request, err)) < 0)
			return r;
	}
	r = bring_back(models, &sink, &champion, &config, err);
	return r == -ENOENT || r == -EBADMSG ? refuse(config.run.name, &champion, err->text) : r;
}
