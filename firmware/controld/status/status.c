/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status object, schema 1: from the status pages, the run record, the disk and the journal. What none of
 * them says is null, and every member is there.
 */
#include "controld/controld.h"
#include "core/base/clock.h"
#include "core/base/paths.h"
#include "core/base/version.h"
#include "core/box/data_disk.h"
#include "core/box/image.h"
#include "core/box/reports.h"
#include "core/config/config.h"
#include "core/run/spool.h"
#include "drivers/clock/rtc.h"
#include "drivers/notify/alive.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SCHEMA           1
#define ERRORS_SHOWN     5u
#define ERRORS_MS        5000u /* the journal is asked no more often */
#define DISK_LOW_PERCENT 5.0
#define DEAD_US          15000000u /* a restart takes less */
#define REASON_MAX       65536u
#define BEGIN_S          60u /* a device that is slow to open takes less */

struct view {
	struct server *server;
	cJSON *record; /* NULL = no run */
	char id[RUN_ID_BYTES];
	const char *state;
	bool begins; /* what run.start asked for; a record is there where that goes on */
	const struct status *fetchd, *traind, *uploadd; /* of this run, NULL = no page says */
	const cJSON *disk;
	uint64_t now_us;
};

static void add_number(cJSON *object, const char *key, double value)
{
	if (isfinite(value))
		(void)cJSON_AddNumberToObject(object, key, value);
	else
		(void)cJSON_AddNullToObject(object, key);
}

static void add_count(cJSON *object, const char *key, bool known, uint64_t value)
{
	if (known)
		(void)json_add_u64(object, key, value);
	else
		(void)cJSON_AddNullToObject(object, key);
}

static void add_text(cJSON *object, const char *key, const char *text)
{
	(void)cJSON_AddItemToObject(object, key, text ? json_string(text) : cJSON_CreateNull());
}

/* ---- The run ---- */

static void read_record(struct view *view, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	const char *id;

	view->state = "idle";
	if (run_json(&text, err) < 0 || json_parse("run.json", text, strlen(text), &view->record, err) < 0 ||
	    json_get_string("run.json", view->record, "id", &id, err) < 0 ||
	    json_get_string("run.json", view->record, "state", &view->state, err) < 0) {
		cJSON_Delete(TAKE(view->record));
		return;
	}
	(void)snprintf(view->id, sizeof(view->id), "%s", id);
}

static void add_run(cJSON *object, const struct view *view)
{
	static const char *const copied[] = { "id",     "name",        "state",      "started_s", "metrics",
					      "reason", "left_behind", "quarantine", "changed" };
	struct run_want want;
	const cJSON *epochs;
	cJSON *run;

	if (!view->record) {
		(void)cJSON_AddNullToObject(object, "run");
		return;
	}
	run = cJSON_AddObjectToObject(object, "run");
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(view->record, copied[i]);

		(void)cJSON_AddItemToObject(run, copied[i],
					    item ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
	}
	add_text(run, "wanted", run_want_get(&want, NULL) == 0 ? run_state_name(want.state) : NULL);
	epochs = cJSON_GetObjectItemCaseSensitive(view->record, "epochs");
	add_count(run, "epochs_done", true, (uint64_t)cJSON_GetArraySize(epochs));
}

/* A number in the record's last epoch, NaN = it does not say. Its pages are gone once a run has ended. */
static double noted(const struct view *view, const char *key)
{
	const cJSON *epochs = cJSON_GetObjectItemCaseSensitive(view->record, "epochs");
	const cJSON *last = cJSON_GetArrayItem(epochs, cJSON_GetArraySize(epochs) - 1);
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(last, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* Without a page: whole epochs, as the record has them. */
static void add_noted_progress(cJSON *progress, const struct view *view)
{
	const cJSON *noted_epochs = cJSON_GetObjectItemCaseSensitive(view->record, "epochs");
	double done = cJSON_GetArraySize(noted_epochs), epochs = NAN;
	CLEANUP(run_done) struct run run = { 0 };

	if (view->record && run_load(&run, NULL) == 0)
		epochs = (double)run.config.run.epochs;
	add_number(progress, "epoch", done > 0 ? done : NAN);
	add_number(progress, "epochs", epochs);
	add_number(progress, "step", noted(view, "step"));
	(void)cJSON_AddNullToObject(progress, "epoch_step");
	(void)cJSON_AddNullToObject(progress, "epoch_steps");
	if (strcmp(view->state, "finished") == 0)
		add_number(progress, "percent", 100);
	else
		add_number(progress, "percent",
			   done > 0 && epochs > 0 ? fmin(100, 100 * done / epochs) : NAN);
	(void)cJSON_AddNullToObject(progress, "eta_s");
}

static void add_progress(cJSON *object, const struct view *view)
{
	const struct status_traind *page = view->traind ? &view->traind->traind : NULL;
	double steps = page ? (double)page->epochs * (double)page->epoch_steps : 0;
	double rate =
		page ? watch_rate(view->server, STATUS_TRAIND, offsetof(struct status, traind.step)) : NAN;
	cJSON *progress = cJSON_AddObjectToObject(object, "progress");

	if (!page) {
		add_noted_progress(progress, view);
		return;
	}
	add_count(progress, "epoch", true, page->epoch + 1);
	add_count(progress, "epochs", true, page->epochs);
	add_count(progress, "step", true, page->step);
	add_count(progress, "epoch_step", true, page->epoch_step);
	add_count(progress, "epoch_steps", page->epoch_steps, page->epoch_steps);
	add_number(progress, "percent", steps > 0 ? fmin(100, 100 * (double)page->step / steps) : NAN);
	add_number(progress, "eta_s",
		   steps > 0 && rate > 0 ? fmax(0, (steps - (double)page->step) / rate) : NAN);
}

static void add_rates(cJSON *object, const struct view *view)
{
	const struct server *server = view->server;
	cJSON *rates = cJSON_AddObjectToObject(object, "rates");
	bool trains = view->traind != NULL;

	add_number(rates, "records_per_s",
		   trains ? watch_rate(server, STATUS_TRAIND, offsetof(struct status, traind.rows)) : NAN);
	add_number(rates, "bytes_per_s",
		   view->fetchd ? watch_rate(server, STATUS_FETCHD, offsetof(struct status, fetchd.bytes))
				: NAN);
	add_number(rates, "gpu_busy_percent",
		   trains ? watch_rate(server, STATUS_TRAIND, offsetof(struct status, traind.busy_us)) / 1e4
			  : NAN);
	add_number(rates, "waiting_percent",
		   trains ? watch_rate(server, STATUS_TRAIND, offsetof(struct status, traind.waited_us)) / 1e4
			  : NAN);
}

static void add_quality(cJSON *object, const struct view *view)
{
	const struct status_traind *page = view->traind ? &view->traind->traind : NULL;

	add_number(object, "loss", page ? page->loss : noted(view, "loss"));
	add_number(object, "accuracy", page ? page->accuracy : noted(view, "accuracy"));
	add_number(object, "validation_loss", page ? page->validation_loss : noted(view, "validation_loss"));
	add_number(object, "validation_accuracy",
		   page ? page->validation_accuracy : noted(view, "validation_accuracy"));
}

static double throttled_s(const struct view *view)
{
	const cJSON *noted_s = cJSON_GetObjectItemCaseSensitive(view->record, "throttled_s");

	if (view->traind)
		return (double)view->traind->traind.throttled_us / 1e6;
	return cJSON_IsNumber(noted_s) ? noted_s->valuedouble : NAN;
}

/* ---- Checkpoints ---- */

struct newest {
	const char *run_id;
	uint64_t step, time_s;
};

static int keep_newest(void *context, const char *name, uint64_t bytes)
{
	struct newest *newest = context;
	int64_t step = spool_checkpoint_step(name);
	char path[PATH_BYTES];
	struct stat st;

	(void)bytes;
	if (step < 0 || (uint64_t)step < newest->step)
		return 0;
	newest->step = (uint64_t)step;
	newest->time_s = stat(spool_path(newest->run_id, name, path), &st) == 0 ? (uint64_t)st.st_mtime : 0;
	return 0;
}

/* The newest that the trainer or the disk knows of: its last one may have come after its last word. */
static void add_checkpoint(cJSON *object, const struct view *view)
{
	const struct status_uploadd *uploadd = view->uploadd ? &view->uploadd->uploadd : NULL;
	struct newest newest = { .run_id = view->id };
	cJSON *checkpoint = cJSON_AddObjectToObject(object, "checkpoint");
	bool known;

	if (view->record)
		(void)!spool_list(view->id, keep_newest, &newest, NULL);
	if (view->traind && view->traind->traind.checkpoint_us &&
	    view->traind->traind.checkpoint_step >= newest.step) {
		newest.step = view->traind->traind.checkpoint_step;
		newest.time_s = view->traind->traind.checkpoint_us / 1000000;
	}
	known = newest.time_s != 0;
	add_count(checkpoint, "step", known, newest.step);
	add_count(checkpoint, "time_s", known, newest.time_s);
	known = uploadd && (uploadd->checkpoint_step || uploadd->checkpoint_us);
	add_count(checkpoint, "uploaded_step", known, known ? uploadd->checkpoint_step : 0);
	add_count(checkpoint, "uploaded_time_s", known && uploadd->checkpoint_us,
		  known ? uploadd->checkpoint_us / 1000000 : 0);
	if (newest.time_s && uploadd)
		(void)cJSON_AddBoolToObject(checkpoint, "safe",
					    known && uploadd->checkpoint_step >= newest.step);
	else
		(void)cJSON_AddNullToObject(checkpoint, "safe");
}

/* ---- Daemons and errors ---- */

static void add_daemons(cJSON *object, const struct view *view)
{
	cJSON *daemons = cJSON_AddObjectToObject(object, "daemons"), *daemon;

	for (int i = 0; i < STATUS_DAEMONS; i++) {
		const struct status *page = watch_newest(view->server, (enum status_daemon)i);
		const char *name = status_daemon_name((enum status_daemon)i);

		if (!page) {
			(void)cJSON_AddNullToObject(daemons, name);
			continue;
		}
		daemon = cJSON_AddObjectToObject(daemons, name);
		(void)cJSON_AddBoolToObject(daemon, "alive", watch_is_alive(page));
		(void)cJSON_AddNumberToObject(daemon, "pid", page->pid);
		add_text(daemon, "run", *page->run_id ? page->run_id : NULL);
		add_text(daemon, "phase", page->phase);
		add_text(daemon, "text", page->text);
		(void)json_add_u64(daemon, "started_s", page->started_us / 1000000);
		(void)json_add_u64(daemon, "updated_s", page->updated_us / 1000000);
	}
}

static void add_errors(cJSON *object, struct server *server)
{
	static const struct journal_filter errors = { .priority = 3 };
	uint64_t now = clock_ms();
	cJSON *found = NULL;

	if (!server->errors || now - server->journal_ms > ERRORS_MS) {
		server->journal_ms = now;
		if (journal_tail(&errors, ERRORS_SHOWN, &found, NULL) < 0)
			found = cJSON_CreateNull();
		cJSON_Delete(server->errors);
		server->errors = found;
	}
	(void)cJSON_AddItemToObject(object, "errors", cJSON_Duplicate(server->errors, true));
}

/* What the time of day is worth. */
static void add_clock(cJSON *object)
{
	const bool set = clock_is_set();
	struct error err;

	(void)cJSON_AddBoolToObject(object, "clock_set", set);
	add_text(object, "clock",
		 set                        ? NULL
		 : rtc_kept_time(&err) == 0 ? "nothing has set it: by this box's hardware clock (RTC)"
					    : err.text);
}

/* ---- What it all comes to ---- */

static bool is_dead(const struct view *view, const struct status *page)
{
	return page && !watch_is_alive(page) && view->now_us > page->updated_us + DEAD_US;
}

/* Every daemon had the time to begin. */
static bool is_under_way(const struct view *view)
{
	uint64_t started_s;

	return json_get_u64("run.json", view->record, "started_s", &started_s, NULL) == 0 &&
	       view->now_us > (started_s + BEGIN_S) * 1000000u;
}

/* The run goes on without uploadd, which ends for good over what waiting does not put right, and takes its
 * page along; NULL = it is there. */
static const char *no_uploads(const struct view *view, char *out, size_t size)
{
	const struct status *page = watch_newest(view->server, STATUS_UPLOADD);
	char words[512];

	if (page && watch_is_alive(page))
		return NULL;
	if (alive_last_words(STATUS_UPLOADD, words, sizeof(words)))
		(void)snprintf(out, size, "uploadd ended: %s", words);
	else if (!page && is_under_way(view))
		(void)snprintf(out, size, "kiln-uploadd does not run; kiln log tells why");
	else
		return NULL;
	return out;
}

/* What keeps a run from beginning or going on, whatever the record says of the last one; NULL = nothing. */
static const char *obstacle(struct server *server, char *out, size_t size)
{
	CLEANUP(free_ptr) char *text = NULL;
	const char *mistake = config_mistake(server);
	char path[PATH_BYTES];
	struct error err;

	if (data_disk_check(&err) < 0)
		return (void)snprintf(out, size, "%.500s", err.text), out;
	if (mistake)
		return mistake;
	if (file_read(path_of(PATH_RUNS, RUN_UNBEGUN_FILE, path), REASON_MAX, &text, NULL, NULL) < 0)
		return NULL;
	(void)snprintf(out, size, "the run does not begin: %s", text);
	return out;
}

/* Why an unfinished run is not well; NULL = it is. */
static const char *trouble(const struct view *view, char *out, size_t size)
{
	const struct status *pages[] = { view->fetchd, view->traind, view->uploadd };
	const cJSON *free_percent = cJSON_GetObjectItemCaseSensitive(view->disk, "free_percent");
	const cJSON *reason = cJSON_GetObjectItemCaseSensitive(view->record, "reason");
	const char *why;

	if (cJSON_IsString(reason))
		return reason->valuestring;
	for (int i = 0; i < STATUS_DAEMONS; i++) {
		const char *name = status_daemon_name((enum status_daemon)i);

		if (pages[i] && strcmp(pages[i]->phase, "degraded") == 0)
			return (void)snprintf(out, size, "%s: %s", name, pages[i]->text), out;
		if (pages[i] && *pages[i]->degraded)
			return (void)snprintf(out, size, "%s: %s", name, pages[i]->degraded), out;
		if (is_dead(view, pages[i]))
			return (void)snprintf(out, size, "%s does not run: %s", name, pages[i]->text), out;
	}
	if ((why = obstacle(view->server, out, size)))
		return why;
	/* Without a page for this run it never got so far. */
	if (!view->traind && is_under_way(view))
		return "kiln-traind has not begun; kiln log tells why";
	if ((why = no_uploads(view, out, size)))
		return why;
	if (cJSON_IsNumber(free_percent) && free_percent->valuedouble < DISK_LOW_PERCENT)
		return (void)snprintf(out, size, "the disk has %.1f %% left", free_percent->valuedouble), out;
	return NULL;
}

static void add_state(cJSON *object, const struct view *view, const struct error *record_error)
{
	const cJSON *reason = cJSON_GetObjectItemCaseSensitive(view->record, "reason");
	char text[1024];
	const char *why = NULL;
	bool active = strcmp(view->state, "running") == 0 || strcmp(view->state, "paused") == 0 ||
		      strcmp(view->state, "stopping") == 0;

	if (!view->record && record_error->code && record_error->code != -ENOENT) {
		add_text(object, "state", "degraded");
		add_text(object, "why", record_error->text);
		return;
	}
	if (view->begins) {
		add_text(object, "state", "beginning");
		add_text(object, "why", "a run was asked for, and kiln-begin is at it");
		return;
	}
	why = active ? trouble(view, text, sizeof(text)) : obstacle(view->server, text, sizeof(text));
	/* Who looks at metrics alone would go by the last ones. */
	if (!why && *view->server->metrics_error) {
		(void)snprintf(text, sizeof(text), "control.metrics_dir: %s", view->server->metrics_error);
		why = text;
	}
	if (why) {
		add_text(object, "state", "degraded");
		add_text(object, "why", why);
		return;
	}
	if (!view->record)
		why = access(config_path(0, NULL), F_OK) == 0
			      ? "there was no run yet"
			      : "there was no run yet, and there is no configuration: kiln config apply FILE";
	else if (cJSON_IsString(reason))
		why = reason->valuestring;
	else if (view->traind && watch_is_alive(view->traind))
		why = view->traind->text;
	add_text(object, "state", view->state);
	add_text(object, "why", why);
}

static const struct status *page_of(struct server *server, enum status_daemon daemon, const char *run_id)
{
	const struct status *page = watch_newest(server, daemon);

	return page && *run_id && strcmp(page->run_id, run_id) == 0 ? page : NULL;
}

cJSON *status_object(struct server *server)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	struct view view = { .server = server };
	struct error err = { 0 };
	struct timespec now;
	char host[256] = "";
	cJSON *disk = node_disk();

	if (!object || !disk || !cJSON_AddNumberToObject(object, "schema", SCHEMA)) {
		cJSON_Delete(disk);
		return NULL;
	}
	watch_sample(server);
	read_record(&view, &err);
	if ((view.begins = beginning_is(server, view.id)) && !server->beginning.goes_on) {
		cJSON_Delete(TAKE(view.record)); /* the last run's */
		view.id[0] = '\0';
		view.state = "idle";
	}
	view.fetchd = page_of(server, STATUS_FETCHD, view.id);
	view.traind = page_of(server, STATUS_TRAIND, view.id);
	view.uploadd = page_of(server, STATUS_UPLOADD, view.id);
	view.disk = disk;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	view.now_us = (uint64_t)now.tv_sec * 1000000u;
	(void)gethostname(host, sizeof(host) - 1);
	(void)json_add_u64(object, "time_s", (uint64_t)now.tv_sec);
	add_text(object, "host", host);
	add_text(object, "version", KILN_VERSION);
	(void)image_add(object);
	add_state(object, &view, &err);
	add_clock(object);
	add_run(object, &view);
	add_progress(object, &view);
	add_rates(object, &view);
	add_quality(object, &view);
	add_checkpoint(object, &view);
	add_text(object, "order", !view.fetchd ? NULL : view.fetchd->fetchd.fast ? "fast" : "exact");
	(void)cJSON_AddItemToObject(object, "cache", cache_of_run(view.fetchd));
	add_count(object, "fetch_retries", view.fetchd, view.fetchd ? view.fetchd->fetchd.retries : 0);
	add_count(object, "upload_retries", view.uploadd, view.uploadd ? view.uploadd->uploadd.retries : 0);
	add_count(object, "skipped_records", view.fetchd, view.fetchd ? view.fetchd->fetchd.skipped : 0);
	add_number(object, "throttled_s", throttled_s(&view));
	(void)cJSON_AddItemToObject(object, "fetch", stalls_object(view.fetchd, view.traind));
	(void)cJSON_AddItemToObject(object, "disk", disk);
	(void)cJSON_AddItemToObject(object, "temperatures", node_temperatures());
	(void)cJSON_AddItemToObject(object, "update", update_object());
	(void)cJSON_AddItemToObject(object, "report", report_newest());
	add_daemons(object, &view);
	add_errors(object, server);
	json_free(&view.record);
	return TAKE(object);
}

int method_status(struct call *call, struct error *err)
{
	call->result = status_object(call->server);
	return call->result ? 0 : error_set(err, -ENOMEM, "no memory");
}
