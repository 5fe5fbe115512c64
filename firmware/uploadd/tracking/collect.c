/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/collect.h"
#include "core/base/clock.h"
#include "core/run/run_summary.h"
#include "core/series/series.h"
#include "uploadd/tracking/about.h"
#include "uploadd/tracking/files.h"

#include <string.h>

/* Metrics in MLflow have the names that promote.objective has (core/series/objective.h). */
static const struct {
	enum journal_kind kind;
	const char *metric, *member;
} members[] = {
	{ JOURNAL_TRAIN, "train.loss", "loss" },
	{ JOURNAL_TRAIN, "train.accuracy", "accuracy" },
	{ JOURNAL_TRAIN, "train.top_k_accuracy", "top_k_accuracy" },
	{ JOURNAL_TRAIN, "learning_rate", "learning_rate" },
	{ JOURNAL_VALIDATION, "validation.loss", "validation_loss" },
	{ JOURNAL_VALIDATION, "validation.accuracy", "validation_accuracy" },
	{ JOURNAL_VALIDATION, "validation.top_k_accuracy", "validation_top_k_accuracy" },
	{ JOURNAL_TEST, "test.loss", "loss" },
	{ JOURNAL_TEST, "test.accuracy", "accuracy" },
	{ JOURNAL_TEST, "test.top_k_accuracy", "top_k_accuracy" },
};

#define AT_MS_MAX 9e15 /* a double holds it exactly */

static int64_t now_ms(void)
{
	return (int64_t)(clock_day_us() / 1000);
}

/* Returns when an epoch ended, as the record says, so that a second box that goes on with the run tells the
 * server the same and makes no doubles; now, where the record is of an earlier version. */
static int64_t time_of(const cJSON *epoch)
{
	const double at_ms = files_number(epoch, "at_ms");

	return at_ms > 0 && at_ms < AT_MS_MAX ? (int64_t)at_ms : now_ms();
}

/* ---- Metrics of run.json ---- */

static cJSON *values_of(enum journal_kind kind, const cJSON *object)
{
	cJSON *values = cJSON_CreateObject();

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const cJSON *item = members[i].kind == kind
					    ? cJSON_GetObjectItemCaseSensitive(object, members[i].member)
					    : NULL;

		if (cJSON_IsNumber(item))
			(void)cJSON_AddNumberToObject(values, members[i].metric, item->valuedouble);
	}
	return values;
}

static int collect_figures(struct journal *journal, const cJSON *record, struct error *err)
{
	const cJSON *epochs = cJSON_GetObjectItemCaseSensitive(record, "epochs"), *epoch;
	int64_t at_ms = now_ms();
	int r = 0;

	cJSON_ArrayForEach(epoch, epochs) {
		const uint64_t n = (uint64_t)files_number(epoch, "epoch") + 1;

		at_ms = time_of(epoch);
		for (enum journal_kind kind = JOURNAL_TRAIN; r == 0 && kind <= JOURNAL_VALIDATION; kind++)
			if (journal_wants(journal, kind, n))
				r = journal_add(journal, kind, n, at_ms, values_of(kind, epoch), err);
	}
	if (r == 0 && journal->next[JOURNAL_TEST] == 0)
		r = journal_add(journal, JOURNAL_TEST, run_epochs_done(epochs), at_ms,
				values_of(JOURNAL_TEST, json_member(record, "metrics.test")), err);
	return r;
}

/* ---- A run ---- */

static int write_about(const char *id, cJSON *about, struct error *err)
{
	CLEANUP(json_free) cJSON *owned = about;

	return owned ? files_write(id, FILES_ABOUT, owned, err)
		     : error_set(err, -ENOMEM, "%s: no memory", id);
}

static int is_described(const char *id, struct error *err)
{
	char path[PATH_BYTES];

	return file_exists(tracking_path(id, FILES_ABOUT, path), err);
}

/* Writes now.json where it changes. What has ended keeps the time at which it was seen to have ended. */
static int write_now(const char *id, cJSON *now, struct error *err)
{
	CLEANUP(json_free) cJSON *owned = now;
	CLEANUP(json_free) cJSON *before = NULL;
	int r = files_read(id, FILES_NOW, &before, err);

	if (r == 0 && files_number(before, "ended_ms") > 0 && files_number(owned, "ended_ms") > 0)
		r = files_set(owned, "ended_ms", cJSON_CreateNumber(files_number(before, "ended_ms")), err);
	if (r < 0 || cJSON_Compare(before, owned, true))
		return r;
	return files_write(id, FILES_NOW, owned, err);
}

/* Writes the about.json of the series that a trial belongs to. */
static int describe_series(const cJSON *trial, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	const char *id = files_text(trial, "series");
	int r = *id ? is_described(id, err) : 1;

	if (r != 0)
		return r < 0 ? r : 0;
	r = series_load(id, &series, err);
	return r < 0 && r != -ENOENT ? r : write_about(id, about_series(trial, id, series), err);
}

static int describe_run(const struct run *run, const cJSON *record, struct error *err)
{
	CLEANUP(json_free) cJSON *about = NULL;
	int r = is_described(run->id, err);

	if (r != 0)
		return r < 0 ? r : 0;
	about = about_run(run, record);
	r = about ? describe_series(about, err) : error_set(err, -ENOMEM, "%s: no memory", run->id);
	return r < 0 ? r : write_about(run->id, TAKE(about), err);
}

static void close_run(struct collector *collector)
{
	if (*collector->id)
		journal_close(&collector->journal);
	*collector = (struct collector){ 0 };
}

static int open_run(struct collector *collector, const struct run *run, const cJSON *record,
		    struct error *err)
{
	int r;

	if (strcmp(collector->id, run->id) == 0)
		return 0;
	close_run(collector);
	r = describe_run(run, record, err);
	if (r >= 0)
		r = journal_open(run->id, &collector->journal, err);
	if (r < 0)
		return r;
	(void)snprintf(collector->id, sizeof(collector->id), "%s", run->id);
	return 0;
}

/* A run that has ended, and has no files in either spool, was told before its files were removed. It may be
 * the current run again, as the winner of a series is. */
static int was_told(const struct run *run, struct error *err)
{
	char path[PATH_BYTES];
	int r = run_state_is_final(run->state) ? is_described(run->id, err) : 1;

	if (r == 0)
		r = file_exists(spool_path(run->id, "", path), err);
	return r < 0 ? r : r == 0;
}

/* Returns the collector that has the run open; NULL = none has. */
static struct collector *find(struct collectors *collectors, const char *id)
{
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++)
		if (strcmp(collectors->of[slot].id, id) == 0)
			return &collectors->of[slot];
	return NULL;
}

void collect_forget(struct collectors *collectors, const char *id)
{
	struct collector *collector = find(collectors, id);

	if (collector)
		close_run(collector);
}

void collect_close(struct collectors *collectors)
{
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++)
		close_run(&collectors->of[slot]);
}

/* The order matters: now.json says that a run has ended only after the journal has all of it. */
int collect_run(struct collectors *collectors, const struct run *run, const cJSON *record, struct error *err)
{
	struct collector *collector = find(collectors, run->id);
	int r = *run->config.tracking.url ? was_told(run, err) : 1;

	if (r != 0)
		return r < 0 ? r : 0;
	if (!collector)
		collector = &collectors->of[slot_now()];
	r = open_run(collector, run, record, err);
	if (r == 0)
		r = follow_steps(&collector->follow, run->id, &collector->journal, err);
	if (r == 0)
		r = collect_figures(&collector->journal, record, err);
	if (r == 0)
		r = journal_sync(&collector->journal, err);
	return r < 0 ? r : write_now(run->id, about_run_now(run, record, now_ms()), err);
}

/* ---- A series ---- */

static int collect_trials(const char *id, const cJSON *series, struct error *err)
{
	struct journal journal;
	const char *objective = files_text(series, "objective");
	int r = journal_open(id, &journal, err);

	for (uint32_t i = 0; r == 0 && i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i),
			    *value = cJSON_GetObjectItemCaseSensitive(trial, "value");
		cJSON *values;

		if (trial_state_of(trial) < TRIAL_FINISHED || !cJSON_IsNumber(value) ||
		    !journal_wants(&journal, JOURNAL_TRIAL, i + 1))
			continue;
		values = cJSON_CreateObject();
		(void)cJSON_AddNumberToObject(values, objective, value->valuedouble);
		r = journal_add(&journal, JOURNAL_TRIAL, i + 1, now_ms(), values, err);
	}
	if (r == 0)
		r = journal_sync(&journal, err);
	journal_close(&journal);
	return r;
}

int collect_series(const char *id, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_load(id, &series, err);

	if (r < 0 && r != -ENOENT)
		return r;
	if (series && (r = collect_trials(id, series, err)) < 0)
		return r;
	return write_now(id, about_series_now(id, series, now_ms()), err);
}

int collect_is_series(const char *id, struct error *err)
{
	CLEANUP(json_free) cJSON *about = NULL;
	int r = files_read(id, FILES_ABOUT, &about, err);

	return r < 0 ? r : strcmp(files_text(about, "tag"), ABOUT_SERIES_TAG) == 0;
}

static int look_for_series(void *context, const char *id)
{
	CLEANUP(json_free) cJSON *about = NULL;

	return files_read(id, FILES_ABOUT, &about, NULL) == 0 &&
	       strcmp(files_text(about, "series"), context) == 0;
}

bool collect_has_trials(const char *id)
{
	char series[RUN_ID_BYTES];

	(void)snprintf(series, sizeof(series), "%s", id);
	return collect_is_series(id, NULL) != 0 && tracking_each(look_for_series, series, NULL) != 0;
}
