/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/make.h"
#include "core/base/url.h"
#include "core/base/version.h"
#include "core/box/image.h"
#include "core/box/night.h"
#include "core/box/report_parts.h"
#include "core/run/run_summary.h"
#include "core/run/status.h"
#include "core/run/status_ranks.h"
#include "core/series/series.h"
#include "oneshot/report/faults.h"
#include "oneshot/report/series.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define REASON_MAX 65536u

/* All that the report of a night is made from. */
struct facts {
	const struct config *config;
	const struct tonight *tonight;
	struct run run; /* the run of the night; its id is "" where the night had no run */
	cJSON *record;  /* the run's run.json, parsed; NULL = none */
	cJSON *series; /* of which the run is a trial, or which worked where the night had no run; NULL = none
			*/
	const char *outcome;
	char *unbegun; /* why the last kiln-oneshot begin failed; NULL = it did not fail */
};

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static bool add_text(cJSON *object, const char *key, const char *text)
{
	return cJSON_AddItemToObject(object, key, text && *text ? json_string(text) : cJSON_CreateNull());
}

/* Copies a member of run.json unchanged; writes null where run.json does not have it. */
static bool copy(cJSON *object, const char *key, const cJSON *from)
{
	const cJSON *item = member(from, key);

	return cJSON_AddItemToObject(object, key, item ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
}

/* ---- Outcome ---- */

static const char *outcome_of(const struct facts *facts)
{
	if (facts->unbegun || (!*facts->run.id && !facts->series))
		return "never_started";
	if (!*facts->run.id)
		return series_state_of(facts->series) == SERIES_RUNNING
			       ? "halted"
			       : series_state_name(series_state_of(facts->series));
	switch (facts->run.state) {
	case RUN_STOPPED:
	case RUN_EXPIRED:
	case RUN_FINISHED:
	case RUN_FAILED:
	case RUN_PRUNED:
		return run_state_name(facts->run.state);
	default:
		return "halted";
	}
}

static const char *reason_of(const struct facts *facts)
{
	const char *noted = cJSON_GetStringValue(member(facts->record, "reason"));

	if (*facts->tonight->reason)
		return facts->tonight->reason;
	return noted ? noted : facts->unbegun;
}

bool report_load_run(const char *id, struct run *ret_run, char **ret_json)
{
	if (run_load(ret_run, NULL) == 0 && strcmp(ret_run->id, id) == 0 && run_json(ret_json, NULL) == 0)
		return true;
	run_done(ret_run);
	*ret_run = (struct run){ 0 };
	return run_load_archived(id, ret_run, NULL) == 0 && run_json_archived(id, ret_json, NULL) == 0;
}

static void find_run(struct facts *facts)
{
	CLEANUP(free_ptr) char *text = NULL;
	const char *id = facts->tonight->run_id;
	char path[PATH_BYTES];

	(void)!file_read(path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path), REASON_MAX, &facts->unbegun, NULL, NULL);
	if (*id && report_load_run(id, &facts->run, &text) &&
	    json_parse("run.json", text, strlen(text), &facts->record, NULL) == 0)
		return;
	run_done(&facts->run);
	facts->run = (struct run){ 0 };
}

/* Slot 0 may have parked its trial: then the night has a series, and no run. */
static void find_series(struct facts *facts)
{
	const char *id = facts->record    ? cJSON_GetStringValue(json_member(facts->record, "series.id"))
			 : facts->unbegun ? NULL
					  : facts->tonight->series_id;

	facts->series = report_series_load(id);
}

static void facts_done(struct facts *facts)
{
	run_done(&facts->run);
	json_free(&facts->record);
	json_free(&facts->series);
	free(facts->unbegun);
}

/* ---- Members ---- */

static bool add_night(cJSON *report, const struct facts *facts)
{
	cJSON *night = cJSON_AddObjectToObject(report, "night");
	int64_t next;

	if (!json_add_u64(night, "from_s", (uint64_t)facts->tonight->from_s) ||
	    !json_add_u64(night, "to_s", (uint64_t)facts->tonight->over_s) ||
	    !cJSON_AddStringToObject(night, "by", facts->tonight->by_timer ? "timer" : "hand"))
		return false;
	next = facts->config->file ? night_next(facts->config, time(NULL)) : 0;
	return next > 0 ? json_add_u64(night, "next_s", (uint64_t)next)
			: cJSON_AddNullToObject(night, "next_s") != NULL;
}

static bool add_sources(cJSON *object, const struct config *config)
{
	cJSON *sources = cJSON_AddArrayToObject(object, "sources");
	bool done = sources;

	for (uint32_t i = 0; done && i < config->sources; i++)
		done = cJSON_AddItemToArray(sources, json_string(config->source[i].store.url));
	return done;
}

static bool add_outputs(cJSON *object, const struct run *run)
{
	char url[PATH_BYTES];

	return add_text(object, "outputs", url_below(url, sizeof(url), run->config.sink.url, "%s", run->id));
}

static bool add_run(cJSON *report, const struct facts *facts)
{
	static const char *const copied[] = { "id",          "name",          "state",
					      "started_s",   "seed",          "start_run",
					      "plan_sha256", "order_version", "device" };
	const struct config *config = &facts->run.config;
	bool done = true;
	cJSON *run;

	if (!facts->record)
		return cJSON_AddNullToObject(report, "run");
	run = cJSON_AddObjectToObject(report, "run");
	for (size_t i = 0; done && i < sizeof(copied) / sizeof(copied[0]); i++)
		done = copy(run, copied[i], facts->record);
	return done && json_add_u64(run, "epochs", config->run.epochs) &&
	       json_add_u64(run, "epochs_done", run_epochs_done(member(facts->record, "epochs"))) &&
	       json_add_u64(run, "batch_rows", config->run.batch_rows) && add_sources(run, config) &&
	       add_outputs(run, &facts->run);
}

static bool add_curve(cJSON *curves, const cJSON *epochs, const struct report_figure *figure)
{
	const struct report_curve curve = report_curve_of(epochs, figure);
	cJSON *object;

	if (!curve.any)
		return cJSON_AddNullToObject(curves, figure->key);
	object = cJSON_AddObjectToObject(curves, figure->key);
	return cJSON_AddNumberToObject(object, "first", curve.first) &&
	       cJSON_AddNumberToObject(object, "best", curve.best) &&
	       cJSON_AddNumberToObject(object, "best_epoch", curve.best_epoch) &&
	       cJSON_AddNumberToObject(object, "last", curve.last);
}

static bool add_curves(cJSON *report, const struct facts *facts)
{
	cJSON *curves = cJSON_AddObjectToObject(report, "curves");
	bool done = curves;

	for (size_t i = 0; done && i < REPORT_FIGURES; i++)
		done = add_curve(curves, member(facts->record, "epochs"), &report_figures[i]);
	return done && copy(report, "test", member(facts->record, "metrics"));
}

/* Adds the member "time". Its upload_s is from the status page of kiln-uploadd, so it counts only from the
 * start of that process. */
static bool add_time(cJSON *report, const struct facts *facts)
{
	const cJSON *throttled = member(facts->record, "throttled_s");
	struct status page;
	cJSON *time;

	if (!copy(report, "time", facts->record))
		return false;
	time = cJSON_GetObjectItemCaseSensitive(report, "time");
	if (cJSON_IsObject(time) && throttled &&
	    !cJSON_AddItemToObject(time, "throttled_s", cJSON_Duplicate(throttled, false)))
		return false;
	if (!cJSON_IsObject(time) || status_read(STATUS_UPLOADD, &page, NULL) < 0 ||
	    strcmp(page.run_id, facts->run.id) != 0)
		return true;
	return cJSON_AddNumberToObject(time, "upload_s", (double)page.uploadd.busy_us / 1e6);
}

/* Adds the member "ranks", from the last page of the trainer; null where one rank trained. */
static bool add_ranks(cJSON *report, const struct facts *facts)
{
	struct status page;
	const bool known =
		status_read(STATUS_TRAIND, &page, NULL) == 0 && strcmp(page.run_id, facts->run.id) == 0;

	return cJSON_AddItemToObject(report, "ranks", status_ranks(NULL, known ? &page : NULL));
}

static bool add_degraded(cJSON *report)
{
	cJSON *list = cJSON_AddArrayToObject(report, "degraded");
	bool done = list;

	for (int i = 0; done && i < STATUS_DAEMONS; i++) {
		struct status page;
		cJSON *object;

		if (status_read((enum status_daemon)i, &page, NULL) < 0 || !*page.degraded)
			continue;
		object = cJSON_CreateObject();
		done = cJSON_AddItemToArray(list, object) &&
		       add_text(object, "daemon", status_daemon_name((enum status_daemon)i)) &&
		       add_text(object, "why", page.degraded);
	}
	return done;
}

/* Adds the member "series"; null where the night has none. */
static bool add_series(cJSON *report, const struct facts *facts)
{
	cJSON *member = facts->series ? report_series_of(facts->series) : cJSON_CreateNull();

	return cJSON_AddItemToObject(report, "series", member);
}

/* ---- The sentence ---- */

static double figure(const cJSON *report, const char *curve, const char *key)
{
	const cJSON *item = member(member(member(report, "curves"), curve), key);

	return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

/* Writes what became of the run of the night, or of the series of which it is a trial. Returns the bytes. */
static size_t print_end(const cJSON *report, const struct facts *facts, char *out, size_t size)
{
	const cJSON *series = member(report, "series");
	const double accuracy = figure(report, "validation_accuracy", "last");
	size_t used;

	if (cJSON_IsObject(series))
		return report_series_sentence(series, facts->outcome, out, size);
	if (!*facts->run.id)
		return (size_t)snprintf(out, size, "no run started");
	used = (size_t)snprintf(out, size, "%s: %s, %" PRIu64 " of %" PRIu64 " epochs", facts->run.id,
				facts->outcome, run_epochs_done(member(facts->record, "epochs")),
				facts->run.config.run.epochs);
	if (accuracy >= 0)
		used += (size_t)snprintf(out + used, size - used, ", validation accuracy %.2f %%",
					 100 * accuracy);
	return used;
}

static bool add_sentence(cJSON *report, const struct facts *facts, const char *host)
{
	const int faults = cJSON_GetArraySize(member(report, "faults"));
	const char *reason = reason_of(facts);
	char text[1536];
	size_t used = (size_t)snprintf(text, sizeof(text), "%s: ", host);

	used += print_end(report, facts, text + used, sizeof(text) - used);
	if (faults)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", %d kinds of faults", faults);
	if (reason)
		(void)snprintf(text + used, sizeof(text) - used, ": %.600s", reason);
	return add_text(report, "text", text);
}

static bool add_faults(cJSON *report, const struct facts *facts)
{
	cJSON *faults = report_faults(facts->tonight->from_s, facts->tonight->over_s);

	return cJSON_AddItemToObject(report, "faults", faults ? faults : cJSON_CreateNull());
}

/* Adds the member "unfit": the table of what does not fit the data, where no run began because of it. */
static bool add_unfit(cJSON *report, const struct facts *facts)
{
	cJSON *table = NULL;
	char path[PATH_BYTES];

	if (!facts->unbegun ||
	    json_read(path_of(PATH_SLOT, RUN_UNFIT_FILE, path), REASON_MAX, &table, NULL) < 0)
		table = cJSON_CreateNull();
	return cJSON_AddItemToObject(report, "unfit", table);
}

static bool add_all(cJSON *report, const struct facts *facts)
{
	char host[256] = "", id[REPORT_ID_BYTES];

	(void)gethostname(host, sizeof(host) - 1);
	return cJSON_AddNumberToObject(report, "schema", REPORT_SCHEMA) &&
	       add_text(report, "id", report_id(facts->tonight->from_s, id)) &&
	       add_text(report, "outcome", facts->outcome) && add_text(report, "reason", reason_of(facts)) &&
	       add_text(report, "host", host) && add_text(report, "version", KILN_VERSION) &&
	       image_add(report) && add_night(report, facts) && add_run(report, facts) &&
	       add_series(report, facts) && add_unfit(report, facts) && add_curves(report, facts) &&
	       add_time(report, facts) && add_ranks(report, facts) && add_faults(report, facts) &&
	       add_degraded(report) && copy(report, "quarantine", facts->record) &&
	       copy(report, "left_behind", facts->record) && copy(report, "changed", facts->record) &&
	       copy(report, "validation_seen", facts->record) && copy(report, "test_seen", facts->record) &&
	       copy(report, "test_given_up", facts->record) && copy(report, "promotion", facts->record) &&
	       add_sentence(report, facts, host);
}

int report_make(const struct config *config, const struct tonight *tonight, cJSON **ret_report,
		cJSON **ret_record, struct error *err)
{
	CLEANUP(facts_done) struct facts facts = { .config = config, .tonight = tonight };
	CLEANUP(json_free) cJSON *report = cJSON_CreateObject();

	find_run(&facts);
	find_series(&facts);
	facts.outcome = outcome_of(&facts);
	if (!add_all(report, &facts))
		return error_set(err, -ENOMEM, "no memory for the report");
	*ret_report = TAKE(report);
	*ret_record = TAKE(facts.record);
	return 0;
}
