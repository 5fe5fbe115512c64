/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/bring_series.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/versions/versions.h"
#include "model/config_text.h"
#include "oneshot/begin/box_stores.h"
#include "oneshot/begin/bring.h"
#include "oneshot/begin/claim_series.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/left_series.h"
#include "oneshot/series/move.h"
#include "oneshot/series/note.h"

#include <string.h>

/* So many series are looked at, the newest first: several boxes may share a sink. */
#define LOOKED_MAX 64u

struct bringing {
	struct config box; /* kiln.conf */
	struct store *sink;
	uint32_t found; /* the newest id is id[(found - 1) % LOOKED_MAX] */
	char id[LOOKED_MAX][RUN_ID_BYTES];
};

static void done(struct bringing **bringing)
{
	if (!*bringing)
		return;
	store_closep(&(*bringing)->sink);
	config_done(&(*bringing)->box);
	free(*bringing);
}

/* ---- Whether ---- */

/* Tells whether the disk has lost its series, or is new. Where bring_trials() was cut short, the current run
 * is a trial that has finished, and series.json is missing. */
static int is_lost(struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *record = NULL, *series = NULL;
	const char *id;
	int r = run_load(&run, err);

	if (r < 0)
		return r == -ENOENT ? 1 : r;
	if ((r = run_record(&record, err)) < 0)
		return r;
	id = cJSON_GetStringValue(json_member(record, "series.id"));
	return id && series_load(id, &series, err) == -ENOENT;
}

/* Called for each key of the store, in bytewise order: ids of one name sort by time. */
static int note_id(void *context, const struct store_object *object)
{
	struct bringing *bringing = context;
	const char *id = strchr(object->key, '/');

	if (id)
		(void)snprintf(bringing->id[bringing->found++ % LOOKED_MAX], RUN_ID_BYTES, "%.*s",
			       (int)strcspn(id + 1, "/"), id + 1);
	return 0;
}

/* Returns whether the frozen configuration of a series names the stores of kiln.conf: a box signs requests
 * only as its own kiln.conf says. */
static bool names_our_stores(const struct bringing *bringing, const cJSON *series)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err;

	if (config_text_load(series_text(series, "config"), &config, &err) == 0 &&
	    box_stores_check(&config, &bringing->box, &err) == 0)
		return true;
	log_notice("%s is %s, but %s: leaving it alone", series_id(series),
		   series_state_name(series_state_of(series)), err.text);
	return false;
}

/* Looks at a series of the store. Returns 1 where it is the last one of this box. A record that cannot be
 * read is passed over. */
static int look_at(const struct bringing *bringing, const char *id, cJSON **ret_series, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *series = NULL;
	char key[SERIES_KEY_BYTES];
	struct run box;
	uint64_t bytes;
	int r = store_get_all(bringing->sink, series_key(id, key), SERIES_JSON_MAX, &text, &bytes, err);

	if (r == 0)
		r = series_parse(key, text, bytes, &series, err);
	if (r == -EBADMSG || r == -EFBIG || r == -ENOENT || (r == 0 && strcmp(series_id(series), id) != 0)) {
		log_warning("%s: not a record of a series; going on with the series before it", key);
		return 0;
	}
	if (r < 0)
		return r;
	box = claim_box_of(series);
	r = run_is_ours(&box, err);
	if (r > 0)
		*ret_series = TAKE(series);
	return r;
}

static int find(struct bringing *bringing, cJSON **ret_series, struct error *err)
{
	char glob[SERIES_KEY_BYTES], pattern[RUN_ID_BYTES];
	int r;

	(void)snprintf(pattern, sizeof(pattern), "%.64s-series-*", bringing->box.run.name);
	r = store_list(bringing->sink, series_key(pattern, glob), note_id, bringing, err);
	for (uint32_t i = 0; r == 0 && i < LOOKED_MAX && i < bringing->found; i++)
		r = look_at(bringing, bringing->id[(bringing->found - 1 - i) % LOOKED_MAX], ret_series, err);
	return r;
}

/* ---- The trials ---- */

/* The store has no run of the trial: the trial begins again. */
static void begin_again(const cJSON *series, cJSON *trial, const struct error *why)
{
	log_warning("%s; trial %s of %s begins again", why->text, series_text(trial, "name"),
		    series_id(series));
	note_state(trial, TRIAL_WAITING, NULL);
	(void)series_set(trial, "run", cJSON_CreateString(""));
	(void)series_set(trial, "rung", cJSON_CreateNumber(0));
	(void)series_set(trial, "rungs", cJSON_CreateArray());
}

/* Notes a run that had ended before the record of the series in the store said so. It is the current one. */
static int note_ended(const cJSON *series, cJSON *trial, const struct run *run, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	int r;

	if ((r = config_text_load(series_text(series, "config"), &config, err)) < 0 ||
	    (r = run_record(&record, err)) < 0)
		return r;
	note_run(series, trial, record);
	(void)note_end(series, trial, record, run->state, next_rungs(&config, series));
	return 0;
}

/* Brings the run of a trial, where this disk does not have it. Afterwards it is parked, archived or the
 * current run, as the trial's state says. Where several trials may have trained side by side, those that run
 * are parked, too, and go on in slot 0, one after the other. */
static int bring_one(const struct bringing *bringing, const cJSON *series, cJSON *trial, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *archived = NULL;
	const char *id = series_text(trial, "run");
	const bool several = series_slots(series) > 1;
	int r;

	if (several)
		(void)series_set(trial, "slot", cJSON_CreateNumber(0));
	/* A slot has taken the trial, and has not begun its run. */
	if (!*id) {
		note_state(trial, TRIAL_WAITING, NULL);
		return 0;
	}
	if (run_is_parked(id) || run_json_archived(id, &archived, NULL) == 0)
		return 0;
	/* An attempt that was killed may have brought it. */
	if ((r = run_load(&run, err)) < 0 && r != -ENOENT)
		return r;
	if (r == -ENOENT || strcmp(run.id, id) != 0) {
		run_done(&run);
		run = (struct run){ 0 };
		r = bring_trial(&bringing->box, bringing->sink, id, &run, err);
	}
	if (r == -ENOENT) {
		begin_again(series, trial, err);
		return 0;
	}
	/* The store refused the last files of the trial for good. */
	if (r == 0 && trial_state_of(trial) == TRIAL_FINISHED && !run_state_is_final(run.state)) {
		note_state(trial, TRIAL_RUNNING, NULL);
		move_trial(trial);
		return run_park(id, err);
	}
	if (r == 0 && several && trial_state_of(trial) == TRIAL_RUNNING && run_state_is_final(run.state))
		r = note_ended(series, trial, &run, err);
	if (r < 0 || (trial_state_of(trial) == TRIAL_RUNNING && !several))
		return r;
	return trial_state_of(trial) <= TRIAL_PARKED && !run_state_is_final(run.state) ? run_park(id, err)
										       : run_archive(err);
}

static int bring_all(const struct bringing *bringing, const cJSON *series, enum trial_state state,
		     struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < series_trials(series); i++)
		if (trial_state_of(series_trial(series, i)) == state)
			r = bring_one(bringing, series, series_trial(series, i), err);
	return r;
}

/* The run of the trial that trains comes last, because it stays the current one. */
static int bring_trials(const struct bringing *bringing, cJSON *series, struct error *err)
{
	const int best = series_best(series, true);
	int r = 0;

	if (best >= 0)
		r = bring_one(bringing, series, series_trial(series, (uint32_t)best), err);
	if (r < 0 || (r = bring_all(bringing, series, TRIAL_PARKED, err)) < 0 ||
	    (r = bring_all(bringing, series, TRIAL_RUNNING, err)) < 0)
		return r;
	/* The time since the mark is that of another disk. */
	cJSON_DeleteItemFromObjectCaseSensitive(series, "mark");
	return series_write(series, err);
}

int bring_series(const char *file, cJSON **ret_series, struct error *err)
{
	CLEANUP(done) struct bringing *bringing = NULL;
	CLEANUP(json_free) cJSON *series = NULL;
	int r = is_lost(err);

	if (r <= 0)
		return r;
	bringing = calloc(1, sizeof(*bringing));
	if (!bringing)
		return error_set(err, -ENOMEM, "no memory for the series of the store");
	if ((r = config_load(file, &bringing->box, err)) < 0)
		return r;
	if (versions_has_branches(&bringing->box.sink)) {
		left_series_say(&bringing->box);
		return 0;
	}
	if ((r = configured_store_open(&bringing->box, &bringing->box.sink, &bringing->sink, err)) < 0 ||
	    (r = find(bringing, &series, err)) <= 0)
		return r;
	if (series_is_final(series) || !names_our_stores(bringing, series))
		return 0;
	if ((r = bring_trials(bringing, series, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_SERIES_BROUGHT, .count = series_trials(series) },
		   "%s: not on this disk, going on with its record in the store", series_id(series));
	*ret_series = TAKE(series);
	return 1;
}
