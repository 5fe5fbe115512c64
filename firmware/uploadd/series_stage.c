/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/series_stage.h"

#include "core/base/log.h"
#include "core/series/series.h"
#include "drivers/versions/versions_stage.h"

#include <string.h>

/* Tells whether a promotion is asked for, and may still come. A series that failed may get none. */
static bool waits_for_outcome(const struct config *config, const cJSON *series)
{
	return config->promote.against != AGAINST_OFF && !cJSON_IsObject(json_member(series, "promotion")) &&
	       cJSON_IsString(json_member(series, "winner")) && series_state_of(series) != SERIES_FAILED;
}

bool series_stage_is_due(const struct config *config, const cJSON *series)
{
	return series_is_final(series) && !waits_for_outcome(config, series) &&
	       !json_member(series, "promotion.merged");
}

/* Puts the record without what this box alone has to do. */
static int put_copy(const struct config_store *at, const cJSON *series, const struct store_options *options,
		    struct error *err)
{
	CLEANUP(json_free) cJSON *copy = cJSON_Duplicate(series, true);
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char key[SERIES_KEY_BYTES];
	int r;

	cJSON_DeleteItemFromObjectCaseSensitive(copy, SERIES_BRANCHES_LEFT);
	if ((r = json_print(copy, &text, err)) < 0 || (r = store_open(at, options, &store, err)) < 0)
		return r;
	return store_put_checked(store, series_key(series_id(series), key), text, strlen(text), NULL, err);
}

static int put_and_merge(const struct stage *stage, const cJSON *series, const struct store_options *options,
			 struct error *err)
{
	CLEANUP(json_free) cJSON *metadata = cJSON_CreateObject();
	char message[RUN_ID_BYTES + 16];
	int r;

	if (!cJSON_AddStringToObject(metadata, "kiln.record", series_id(series)))
		return error_set(err, -ENOMEM, "no memory for a commit");
	(void)snprintf(message, sizeof(message), "record of %s", series_id(series));
	r = put_copy(&stage->at, series, options, err);
	return r < 0 ? r : stage_merge(stage, message, metadata, options, err);
}

/* Deletes the stage after `r` of the put. A failure that may pass is one of the put, so that the next try
 * deletes the branch. One for good is a warning. */
static int drop(const struct stage *stage, int r, const struct store_options *options, struct error *err)
{
	struct error left = { 0 };
	const int dropped = stage_drop(stage, options, &left);

	if (dropped == 0)
		return r;
	if (r == 0 && dropped != -EACCES && dropped != -EPERM)
		return error_set(err, dropped, "%s; the branch %s is still there", left.text, stage->at.at);
	log_warning("%s; the branch %s stays", left.text, stage->at.at);
	return r;
}

int series_stage_put(const struct config *config, const cJSON *series, const struct store_options *options,
		     struct error *err)
{
	char name[CONFIG_REF_MAX + 1];
	struct stage stage;
	int r;

	(void)snprintf(name, sizeof(name), "series-%s", series_id(series));
	r = stage_open(&config->sink, name, options, &stage, err);
	if (r == 0)
		r = put_and_merge(&stage, series, options, err);
	return drop(&stage, r, options, err);
}
