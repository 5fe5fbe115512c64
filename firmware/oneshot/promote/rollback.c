/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/rollback.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "drivers/versions/versions_run.h"
#include "oneshot/branches/left.h"
#include "oneshot/promote/copies.h"
#include "oneshot/promote/merge.h"
#include "oneshot/promote/merge_commit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>
#include <time.h>

#define LOST_FILE      "rollback.lost" /* in PATH_RUNS: number of the champion that a request was to replace */
#define LOST_BYTES_MAX 24u

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

/* What a rollback works with: the champion that goes, and the stage with the folder models/<run.name>/. */
struct going_back {
	const struct config *config;
	const struct champion *gone;
	uint32_t mark; /* of the request */
	struct stage stage;
	struct store *models;
};

static void going_back_done(struct going_back *back)
{
	store_close(back->models);
}

/* Begins the stage, and checks that the champion there is the one that goes. */
static int begin(struct going_back *back, struct error *err)
{
	const struct store_options options = store_options_of(back->config);
	const struct config_store into = versions_merge_target(back->config);
	CLEANUP(champion_done) struct champion found = { 0 };
	char name[CONFIG_REF_MAX + 1];
	int r;

	(void)snprintf(name, sizeof(name), "rollback-%s-%" PRIu64 "-%08" PRIx32, back->config->run.name,
		       back->gone->number, back->mark);
	if ((r = left_stage_open(&into, name, &options, &back->stage, err)) < 0 ||
	    (r = champion_store(back->config, &back->stage.at, &back->models, err)) < 0 ||
	    (r = champion_get(back->models, &found, err)) < 0)
		return r;
	return found.record && found.number == back->gone->number
		       ? 0
		       : error_set(err, -EBUSY, "%s: another champion comes at the moment",
				   back->config->run.name);
}

/* Merges the stage: the branch merged into has the former champion then. */
static int merge(const struct going_back *back, uint64_t number, struct error *err)
{
	const struct store_options options = store_options_of(back->config);
	CLEANUP(json_free) cJSON *metadata = cJSON_CreateObject();
	char message[128], text[24];
	int r;

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	(void)snprintf(message, sizeof(message), "champion %" PRIu64 " in place of %" PRIu64, number,
		       back->gone->number);
	if (!cJSON_AddStringToObject(metadata, "kiln.champion", text))
		return error_set(err, -ENOMEM, "no memory for a commit");
	r = merge_later(stage_merge(&back->stage, message, metadata, &options, err), err);
	if (r < 0 && r != -EBUSY && error_exit_code(err) == EX_UNAVAILABLE)
		return error_prefix(err,
				    "champion %" PRIu64
				    " may have come back; the same request again goes back no further",
				    number);
	return r;
}

/* Puts the files and the record of the former champion on the stage. */
static int put_former(const struct going_back *back, const struct champion *former, uint64_t *ret_number,
		      struct error *err)
{
	CLEANUP(copies_done) struct copies copies = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	struct store *models = back->models;
	uint64_t number;
	int r;

	if ((r = champion_take_number(models, back->gone, former->run_id, &number, err)) < 0 ||
	    (r = copies_of_champion(former, number, &copies, err)) < 0 ||
	    (r = copies_make(&copies, models, models, err)) < 0 ||
	    (r = make_record(former, back->gone, &copies, &record, err)) < 0)
		return r;
	*ret_number = number;
	return champion_put(models, record, number, err);
}

static int go_back(struct going_back *back, struct champion *ret_former, uint64_t *ret_number,
		   struct error *err)
{
	const struct store_options options = store_options_of(back->config);
	int r;

	if ((r = begin(back, err)) == 0 &&
	    (r = champion_get_former(back->models, back->gone->before, ret_former, err)) == 0 &&
	    (r = put_former(back, ret_former, ret_number, err)) == 0)
		r = merge(back, *ret_number, err);
	left_stage_drop(&back->stage, &options);
	return r;
}

static int bring_back(const struct champion *gone, const struct config *config, uint32_t mark,
		      struct error *err)
{
	CLEANUP(going_back_done) struct going_back back = { .config = config, .gone = gone, .mark = mark };
	CLEANUP(champion_done) struct champion former = { 0 };
	uint64_t number = 0;
	int r = go_back(&back, &former, &number, err);

	if (r < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_MODEL_RESTORED,
				    .run_id = former.run_id,
				    .url = store_url(back.models),
				    .count = number },
		   "%s: champion %" PRIu64 " of %s again, in place of %s", former.run_id, number,
		   config->run.name, gone->run_id);
	champion_track(config, back.models, former.run_id, number);
	return EX_OK;
}

static int refuse(const char *name, const struct champion *champion, const char *why)
{
	event_send(&(struct event){ .id = EVENT_MODEL_REFUSED, .run_id = champion->run_id },
		   "%s: %s, so none comes back", name, why);
	return EX_DATAERR;
}

/* Gets the champion of the newest commit: what nobody has committed does not count. */
static int get_champion(const struct config *config, struct store **ret_models, struct champion *ret_champion,
			struct error *err)
{
	struct config_store committed = versions_merge_target(config);
	int r = merge_newest(config, &committed, err);

	if (r < 0 || (r = champion_store(config, &committed, ret_models, err)) < 0)
		return r;
	return champion_get(*ret_models, ret_champion, err);
}

/* Another champion came since the request began: the former one, or one that another box has promoted. */
static int is_back(const struct promote_request *request, const struct champion *champion,
		   const struct config *config, const struct store *models)
{
	if (json_number(champion->record, "rolled_back", 0) != (double)request->from)
		return refuse(config->run.name, champion, "another champion was promoted meanwhile");
	champion_track(config, models, champion->run_id, champion->number);
	return EX_OK;
}

/* ---- A request whose answer was lost ---- */

/* Notes the champion that a request was to replace, and that may be replaced; 0: no request. A failure is a
 * warning. */
static void note_lost(uint64_t from)
{
	char path[PATH_BYTES], text[LOST_BYTES_MAX];
	struct error err = { 0 };
	int r;

	(void)snprintf(text, sizeof(text), "%" PRIu64, from);
	(void)path_of(PATH_RUNS, LOST_FILE, path);
	r = from ? file_write_durable(path, text, strlen(text), &err) : file_remove_durable(path, &err);
	if (r < 0)
		log_warning("%s", err.text);
}

/* Tells whether the champion came back by an earlier request, whose answer was lost. */
static bool came_back(const struct champion *champion)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	const double from = json_number(champion->record, "rolled_back", 0);

	return from > 0 &&
	       file_read(path_of(PATH_RUNS, LOST_FILE, path), LOST_BYTES_MAX, &text, NULL, NULL) == 0 &&
	       (double)strtoull(text, NULL, 10) == from;
}

static int say_back(const struct champion *champion, const struct config *config)
{
	note_lost(0);
	log_notice("champion %" PRIu64
		   " of %s is back already, by the request before, whose answer was lost; "
		   "a further request goes back one more",
		   champion->number, config->run.name);
	return EX_OK;
}

/* ---- The request ---- */

/* Notes what the request replaces, so that it does so once. */
static int note_begin(struct promote_request *request, uint64_t number, struct error *err)
{
	request->from = number;
	if (getrandom(&request->mark, sizeof(request->mark), 0) != sizeof(request->mark))
		return error_set(err, -EIO, "no random number: %s", strerror(errno));
	return promote_request_put(request, err);
}

int rollback(struct promote_request *request, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(store_closep) struct store *models = NULL;
	CLEANUP(champion_done) struct champion champion = { 0 };
	int r;

	if ((r = config_load(config_path(0, NULL), &config, err)) < 0 ||
	    (r = get_champion(&config, &models, &champion, err)) < 0)
		return r;
	if (request->from && request->from != champion.number)
		return is_back(request, &champion, &config, models);
	if (!request->from && came_back(&champion))
		return say_back(&champion, &config);
	if (!champion.record || !champion.before)
		return refuse(config.run.name, &champion,
			      champion.record ? "the champion has no champion before it"
					      : "there is no champion");
	if (!request->from && (r = note_begin(request, champion.number, err)) < 0)
		return r;
	r = bring_back(&champion, &config, request->mark, err);
	note_lost(r < 0 && error_exit_code(err) == EX_UNAVAILABLE ? champion.number : 0);
	return r == -ENOENT || r == -EBADMSG ? refuse(config.run.name, &champion, err->text) : r;
}
