/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/training.h"
#include "controld/status/checkpoints.h"
#include "controld/status/figure.h"
#include "controld/status/stalls.h"
#include "core/run/run_summary.h"
#include "core/run/status_ranks.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- The run ---- */

static void add_run(cJSON *object, const struct view *view)
{
	static const char *const copied[] = { "id",     "name",        "state",      "started_s", "metrics",
					      "reason", "left_behind", "quarantine", "changed" };
	struct run_want want;
	cJSON *run;

	if (!view->record) {
		(void)cJSON_AddNullToObject(object, "run");
		return;
	}
	run = cJSON_AddObjectToObject(object, "run");
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		const cJSON *item = view_noted(view, copied[i]);

		(void)cJSON_AddItemToObject(run, copied[i],
					    item ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
	}
	figure_text(run, "wanted", run_want_get(&want, NULL) == 0 ? run_state_name(want.state) : NULL);
	(void)json_add_u64(run, "epochs_done", run_epochs_done(view_noted(view, "epochs")));
}

/* Adds the progress in whole epochs, from the run record, if kiln-traind has no status page. */
static void add_noted_progress(cJSON *progress, const struct view *view)
{
	double done = (double)run_epochs_done(view_noted(view, "epochs")), epochs = NAN;
	CLEANUP(run_done) struct run run = { 0 };

	if (view->record && run_load(&run, NULL) == 0)
		epochs = (double)run.config.run.epochs;
	figure_number(progress, "epoch", done > 0 ? done : NAN);
	figure_number(progress, "epochs", epochs);
	figure_number(progress, "step", view_noted_number(view, "step"));
	(void)cJSON_AddNullToObject(progress, "epoch_step");
	(void)cJSON_AddNullToObject(progress, "epoch_steps");
	if (strcmp(view->state, "finished") == 0)
		figure_number(progress, "percent", 100);
	else
		figure_number(progress, "percent",
			      done > 0 && epochs > 0 ? fmin(100, 100 * done / epochs) : NAN);
	(void)cJSON_AddNullToObject(progress, "eta_s");
}

/* Returns the growth per second of a counter of the trainer's page; NaN = not known. A run that does not
 * train now has no rate: the samples are those of the time before. */
static double trainer_rate(const struct view *view, size_t offset)
{
	if (!view->traind || strcmp(view->state, "running") != 0 ||
	    strcmp(view->traind->phase, "paused") == 0)
		return NAN;
	return watch_rate(&view->box->watch, STATUS_TRAIND, offset);
}

static void add_progress(cJSON *object, const struct view *view)
{
	const struct status_traind *page = view->traind ? &view->traind->traind : NULL;
	double steps = page ? (double)page->epochs * (double)page->epoch_steps : 0;
	double rate = trainer_rate(view, offsetof(struct status, traind.step));
	cJSON *progress = cJSON_AddObjectToObject(object, "progress");

	if (!page) {
		add_noted_progress(progress, view);
		return;
	}
	(void)json_add_u64(progress, "epoch", page->epoch + 1);
	(void)json_add_u64(progress, "epochs", page->epochs);
	(void)json_add_u64(progress, "step", page->step);
	(void)json_add_u64(progress, "epoch_step", page->epoch_step);
	figure_count(progress, "epoch_steps", page->epoch_steps, page->epoch_steps);
	figure_number(progress, "percent",
		      strcmp(view->state, "finished") == 0 ? 100
		      : steps > 0                          ? fmin(100, 100 * (double)page->step / steps)
							   : NAN);
	figure_number(progress, "eta_s",
		      steps > 0 && rate > 0 ? fmax(0, (steps - (double)page->step) / rate) : NAN);
}

static void add_rates(cJSON *object, const struct view *view)
{
	cJSON *rates = cJSON_AddObjectToObject(object, "rates");

	figure_number(rates, "records_per_s", trainer_rate(view, offsetof(struct status, traind.rows)));
	figure_number(rates, "bytes_per_s",
		      view->fetchd ? watch_rate(&view->box->watch, STATUS_FETCHD,
						offsetof(struct status, fetchd.bytes))
				   : NAN);
	figure_number(rates, "gpu_busy_percent",
		      trainer_rate(view, offsetof(struct status, traind.busy_us)) / 1e4);
	figure_number(rates, "waiting_percent",
		      trainer_rate(view, offsetof(struct status, traind.waited_us)) / 1e4);
}

/* Adds the ranks of the last seconds, or of the whole time where the trainer has ended. */
static void add_ranks(cJSON *object, const struct view *view)
{
	const bool works = view->traind && watch_is_alive(view->traind);

	(void)cJSON_AddItemToObject(
		object, "ranks",
		status_ranks(works ? watch_oldest(&view->box->watch, STATUS_TRAIND) : NULL, view->traind));
}

static void add_quality(cJSON *object, const struct view *view)
{
	const struct status_traind *page = view->traind ? &view->traind->traind : NULL;

	figure_number(object, "loss", page ? page->loss : view_noted_number(view, "loss"));
	figure_number(object, "accuracy", page ? page->accuracy : view_noted_number(view, "accuracy"));
	figure_number(object, "validation_loss",
		      page ? page->validation_loss : view_noted_number(view, "validation_loss"));
	figure_number(object, "validation_accuracy",
		      page ? page->validation_accuracy : view_noted_number(view, "validation_accuracy"));
}

/* ---- Checkpoints ---- */

static void add_checkpoint(cJSON *object, const struct view *view)
{
	CLEANUP(checkpoints_done) struct checkpoints found = { 0 };
	cJSON *checkpoint = cJSON_AddObjectToObject(object, "checkpoint");

	if (*view->id)
		(void)!checkpoints_read(view->id, view->traind, view->uploadd, &found, NULL);
	figure_count(checkpoint, "step", found.any, found.newest);
	figure_count(checkpoint, "time_s", found.any && found.newest_s, found.newest_s);
	figure_count(checkpoint, "uploaded_step", found.any_stored, found.stored);
	figure_count(checkpoint, "uploaded_time_s", found.any_stored && found.stored_s, found.stored_s);
	if (found.any && found.store_known)
		(void)cJSON_AddBoolToObject(checkpoint, "safe",
					    found.any_stored && found.stored >= found.newest);
	else
		(void)cJSON_AddNullToObject(checkpoint, "safe");
}

void training_add_run(cJSON *object, const struct view *view)
{
	add_run(object, view);
	add_progress(object, view);
	add_rates(object, view);
	add_ranks(object, view);
	add_quality(object, view);
	add_checkpoint(object, view);
}

/* ---- The work behind it ---- */

static double throttled_s(const struct view *view)
{
	const cJSON *noted_s = view_noted(view, "throttled_s");

	if (view->traind)
		return (double)view->traind->traind.throttled_us / 1e6;
	return cJSON_IsNumber(noted_s) ? noted_s->valuedouble : NAN;
}

cJSON *training_cache(const struct status *page)
{
	const struct status_fetchd *fetchd = page ? &page->fetchd : NULL;
	cJSON *run = fetchd && fetchd->cached ? cJSON_CreateObject() : cJSON_CreateNull();

	if (!cJSON_IsObject(run))
		return run;
	(void)json_add_u64(run, "hits", fetchd->cache_hits);
	(void)json_add_u64(run, "hit_bytes", fetchd->cache_bytes);
	(void)json_add_u64(run, "misses", fetchd->cache_misses);
	(void)json_add_u64(run, "kept", fetchd->cache_written);
	(void)json_add_u64(run, "next_objects", fetchd->next_objects);
	(void)json_add_u64(run, "next_bytes", fetchd->next_bytes);
	return run;
}

static cJSON *tracking_object(const struct status *page)
{
	const struct status_uploadd *uploadd = page ? &page->uploadd : NULL;
	cJSON *object = uploadd && uploadd->tracks ? cJSON_CreateObject() : cJSON_CreateNull();

	if (!cJSON_IsObject(object))
		return object;
	(void)json_add_u64(object, "sent", uploadd->tracked);
	(void)json_add_u64(object, "waiting", uploadd->track_waiting);
	figure_text(object, "problem", *uploadd->tracking ? uploadd->tracking : NULL);
	return object;
}

void training_add_work(cJSON *object, const struct view *view)
{
	const struct status_fetchd *fetchd = view->fetchd ? &view->fetchd->fetchd : NULL;

	figure_text(object, "order", !fetchd ? NULL : fetchd->fast ? "fast" : "exact");
	(void)cJSON_AddItemToObject(object, "cache", training_cache(view->fetchd));
	figure_count(object, "fetch_retries", fetchd, fetchd ? fetchd->retries : 0);
	figure_count(object, "upload_retries", view->uploadd,
		     view->uploadd ? view->uploadd->uploadd.retries : 0);
	(void)cJSON_AddItemToObject(object, "tracking", tracking_object(view->uploadd));
	figure_count(object, "skipped_records", fetchd, fetchd ? fetchd->skipped : 0);
	figure_number(object, "throttled_s", throttled_s(view));
	(void)cJSON_AddItemToObject(object, "fetch", stalls_object(view->fetchd, view->traind));
}
