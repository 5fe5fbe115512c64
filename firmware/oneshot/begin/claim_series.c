/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/claim_series.h"
#include "core/base/log.h"
#include "drivers/versions/versions.h"
#include "model/config_text.h"
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

static int claim(struct store *sink, const cJSON *series, bool goes_on, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[SERIES_KEY_BYTES];
	bool ours;
	int r = look(sink, series_key(series_id(series), key), goes_on, &ours, err);

	if (r < 0 || ours)
		return r;
	if ((r = make_claim(series, &text, err)) < 0 || (r = claim_put(sink, key, text, err)) < 0)
		return r;
	if (r > 0)
		return 0;
	claim_settle(sink);
	return look(sink, key, true, &ours, err);
}

static int claim_an_id(struct store *sink, cJSON *series, bool goes_on, struct error *err)
{
	uint32_t taken = 0;
	int r;

	while ((r = claim(sink, series, goes_on, err)) == -EEXIST) {
		if (++taken == CLAIM_IDS_MAX)
			return error_set(err, -EAGAIN,
					 "%s: the store says that it has a series with each of the last %u "
					 "ids, up to %s",
					 store_url(sink), CLAIM_IDS_MAX, series_id(series));
		log_info("%s: the store has a series with this id already, so this one gets a later id",
			 series_id(series));
		(void)sleep(1);
		if ((r = series_rename(series, err)) < 0)
			break;
	}
	return r;
}

int claim_series(cJSON *series, bool goes_on, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(store_closep) struct store *sink = NULL;
	int r;

	if (*series_text(series, "machine"))
		return 0;
	if ((r = config_text_load(series_text(series, "config"), &config, err)) < 0)
		return r;
	if (!versions_has_branches(&config.sink) &&
	    ((r = configured_store_open(&config, &config.sink, &sink, err)) < 0 ||
	     (r = claim_an_id(sink, series, goes_on, err)) < 0))
		return r;
	return (r = claim_add_box(series, err)) < 0 ? r : series_write(series, err);
}
