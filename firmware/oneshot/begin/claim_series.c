/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/claim_series.h"
#include "core/base/log.h"
#include "drivers/versions/versions_run.h"
#include "model/config_text.h"
#include "oneshot/begin/branch.h"
#include "oneshot/begin/claim.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/stored_record.h"

#include <string.h>

struct run claim_box_of(const cJSON *series)
{
	struct run box = { 0 };

	(void)snprintf(box.machine, sizeof(box.machine), "%s", series_text(series, "machine"));
	(void)snprintf(box.root, sizeof(box.root), "%s", series_text(series, "root"));
	return box;
}

/* Looks whether the store has a series with this id. Returns 0 where it has none, or where an earlier attempt
 * of this box put it there (*ret_ours); -EEXIST where another box did. */
static int look(struct store *sink, const char *key, bool goes_on, bool *ret_ours, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *there = NULL;
	struct run box;
	uint64_t bytes;
	int anothers = 1, r = store_get_all(sink, key, SERIES_JSON_MAX, &text, &bytes, err);

	if (r == 0)
		r = series_parse(key, text, bytes, &there, err);
	if (r == 0 && goes_on) {
		box = claim_box_of(there);
		anothers = stored_record_is_anothers(&box, err);
	}
	*ret_ours = anothers == 0;
	if (anothers < 0)
		return anothers;
	if (r == -ENOENT || *ret_ours)
		return 0;
	return r == 0 || r == -EBADMSG ? -EEXIST : r;
}

static int make_claim(const cJSON *series, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *record = cJSON_Duplicate(series, true);
	int r = claim_add_box(record, err);

	return r < 0 ? r : json_print(record, ret_text, err);
}

/* Makes the branch of the first trial, where the claim lies on a store with branches. -EEXIST: somebody has
 * it. The branch is the claim of all prefixes of the repository; with `goes_on` an earlier attempt may have
 * made it. */
static int make_branch(const struct config *config, const cJSON *series, bool goes_on,
		       char branch[static CONFIG_REF_MAX + 1], struct error *err)
{
	const struct store_options options = store_options_of(config);
	const char *start = series_text(series, "sink_commit");
	CLEANUP(versions_closep) struct versions *versions = NULL;
	int r;

	versions_trial_branch(series_id(series), series_text(series_trial(series, 0), "name"), branch);
	if ((r = versions_sink_open(config, &options, &versions, err)) < 0)
		return r;
	return goes_on ? versions_branch(versions, branch, start, NULL, err)
		       : versions_branch_new(versions, branch, start, err);
}

static int open_sink(const struct config *config, const cJSON *series, bool goes_on, struct store **ret_sink,
		     struct error *err)
{
	struct config_store where = config->sink;
	int r = versions_has_branches(&where) ? make_branch(config, series, goes_on, where.at, err) : 0;

	return r < 0 ? r : configured_store_open(config, &where, ret_sink, err);
}

static int claim(const struct config *config, const cJSON *series, bool goes_on, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char key[SERIES_KEY_BYTES];
	bool ours;
	int r;

	if ((r = open_sink(config, series, goes_on, &sink, err)) < 0 ||
	    (r = look(sink, series_key(series_id(series), key), goes_on, &ours, err)) < 0 || ours)
		return r;
	if ((r = make_claim(series, &text, err)) < 0 || (r = claim_put(sink, key, text, err)) < 0)
		return r;
	if (r > 0)
		return 0;
	claim_settle(sink);
	return look(sink, key, true, &ours, err);
}

static int claim_an_id(const struct config *config, cJSON *series, bool goes_on, struct error *err)
{
	uint32_t taken = 0;
	int r;

	while ((r = claim(config, series, goes_on, err)) == -EEXIST) {
		if (++taken == CLAIM_IDS_MAX)
			return error_set(err, -EAGAIN,
					 "%s: the store says that it has a series with each of the last %u "
					 "ids, up to %s",
					 config->sink.url, CLAIM_IDS_MAX, series_id(series));
		log_info("%s: the store has a series with this id already, so this one gets a later id",
			 series_id(series));
		(void)sleep(1);
		if ((r = series_rename(series, err)) < 0)
			break;
	}
	return r;
}

static bool has_begun(const cJSON *series)
{
	for (uint32_t i = 0; i < series_trials(series); i++)
		if (*series_text(series_trial(series, i), "run"))
			return true;
	return false;
}

/* Notes where the branches of the trials begin, before one is made. */
static int note_start(cJSON *series, const struct config *config, struct error *err)
{
	char start[VERSIONS_ID_BYTES] = "";
	int r = branch_find_start(series, config, start, err);

	if (r < 0 || !*start)
		return r;
	if (!series_set(series, "sink_commit", cJSON_CreateString(start)))
		return error_set(err, -ENOMEM, "series.json: no memory");
	return series_write(series, err);
}

int claim_series(cJSON *series, bool goes_on, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r;

	if (*series_text(series, "machine"))
		return 0;
	if ((r = config_text_load(series_text(series, "config"), &config, err)) < 0 ||
	    (r = note_start(series, &config, err)) < 0)
		return r;
	if (!has_begun(series) && (r = claim_an_id(&config, series, goes_on, err)) < 0)
		return r;
	return (r = claim_add_box(series, err)) < 0 ? r : series_write(series, err);
}
