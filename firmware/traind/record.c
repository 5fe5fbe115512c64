/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.json gets "epochs", an array with an object an epoch {epoch, step, loss, accuracy, learning_rate,
 * validation_loss, validation_accuracy}, and "metrics" {train, validation, test}, each {loss, accuracy,
 * rows}, of the last pass over each that had rows, with model.top_k also top_k_accuracy beside accuracy,
 * neither where the loss has none; "quarantine", quarantine_json(), where records were left out;
 * "throttled_s", the pauses to cool down that the run made, where there were any.
 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "traind/train.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PROGRESS_US 5000000u
#define NUMBER_MAX  9007199254740992.0

static const char *const split_names[] = { "train", "validation", "test" };
static_assert(sizeof(split_names) / sizeof(split_names[0]) == SPLIT_MAX, "every split has its name");

const char *split_name(uint32_t split)
{
	return split_names[split];
}

/* ---- Open ---- */

/* Passes of this split that are whole behind the cursor; validation k comes after train k. */
static uint64_t passes_behind(const struct train *train, enum split split)
{
	const uint64_t epochs = train->run.config.run.epochs;
	struct cursor cursor;

	model_cursor_get(train->model, &cursor);
	if (cursor.ended || cursor.split == SPLIT_TEST)
		return epochs;
	return cursor.segment + (split == SPLIT_TRAIN && cursor.split == SPLIT_VALIDATION);
}

static cJSON *take_member(cJSON *record, const char *key, cJSON *empty)
{
	cJSON *found = cJSON_DetachItemFromObjectCaseSensitive(record, key);

	if (!found)
		return empty;
	cJSON_Delete(empty);
	return found;
}

static double member(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

/* What the record says of epochs behind the cursor stays. */
static int take_epochs(struct train *train, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	struct report *report = &train->report;
	int r;

	if ((r = run_json(&text, err)) < 0 ||
	    (r = json_parse("run.json", text, strlen(text), &record, err)) < 0)
		return r;
	report->epochs = take_member(record, "epochs", cJSON_CreateArray());
	report->metrics = take_member(record, "metrics", cJSON_CreateObject());
	publish_throttled(train, (uint64_t)(1e6 * fmax(0, member(record, "throttled_s"))));
	stages_restore(train, record);
	if (!cJSON_IsArray(report->epochs) || !cJSON_IsObject(report->metrics))
		return error_set(err, -EBADMSG,
				 "run.json: epochs or metrics: expected an array and an object");
	while ((uint64_t)cJSON_GetArraySize(report->epochs) > passes_behind(train, SPLIT_TRAIN))
		cJSON_DeleteItemFromArray(report->epochs, cJSON_GetArraySize(report->epochs) - 1);
	return 0;
}

int report_open(struct train *train, struct error *err)
{
	struct report *report = &train->report;

	curves_open(train, passes_behind(train, SPLIT_TRAIN), passes_behind(train, SPLIT_VALIDATION));
	report->noted = true;
	report->shown_us = clock_us();
	return take_epochs(train, err);
}

void report_close(struct train *train)
{
	curves_close(train);
	cJSON_Delete(train->report.epochs);
	cJSON_Delete(train->report.metrics);
}

/* ---- Figures ---- */

/* core/base/json.h keeps numbers to 2^53; a loss beyond that says no more. */
static bool set_number(cJSON *object, const char *key, double value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, key);
	return cJSON_AddNumberToObject(object, key, fmin(value, NUMBER_MAX));
}

/* With a prefix, as Keras's history has them; those that there are. */
static bool set_figures(const struct train *train, cJSON *object, const char *prefix,
			const struct model_metrics *metrics)
{
	const struct {
		const char *name;
		double value;
	} figures[] = { { "loss", metrics->loss },
			{ "accuracy", metrics->accuracy },
			{ "top_k_accuracy", metrics->top_k } };
	const size_t count = train->run.config.model.top_k ? 3 : 2;
	bool done = true;
	char key[48];

	for (size_t i = 0; done && i < count; i++) {
		if (isnan(figures[i].value))
			continue;
		(void)snprintf(key, sizeof(key), "%s%s", prefix, figures[i].name);
		done = set_number(object, key, figures[i].value);
	}
	return done;
}

static bool update_metrics(struct train *train, enum split split, const struct model_metrics *metrics)
{
	struct report *report = &train->report;
	cJSON *member;

	cJSON_DeleteItemFromObjectCaseSensitive(report->metrics, split_names[split]);
	member = cJSON_AddObjectToObject(report->metrics, split_names[split]);
	return member && set_figures(train, member, "", metrics) &&
	       json_add_u64(member, "rows", metrics->rows);
}

static bool update_epochs(struct train *train, enum split split, uint64_t epoch,
			  const struct model_metrics *metrics)
{
	cJSON *epochs = train->report.epochs, *entry;

	if (split == SPLIT_TRAIN) {
		entry = cJSON_CreateObject();
		return cJSON_AddItemToArray(epochs, entry) && json_add_u64(entry, "epoch", epoch) &&
		       json_add_u64(entry, "step", model_step(train->model)) &&
		       set_figures(train, entry, "", metrics) &&
		       set_number(entry, "learning_rate", model_learning_rate(train->model));
	}
	entry = cJSON_GetArrayItem(epochs, cJSON_GetArraySize(epochs) - 1);
	if (split == SPLIT_TEST || !entry)
		return true;
	return set_figures(train, entry, "validation_", metrics);
}

struct callbacks_figures report_figures(const struct train *train, uint64_t epoch)
{
	const cJSON *entry = cJSON_GetArrayItem(train->report.epochs, (int)epoch);

	return (struct callbacks_figures){
		.loss = member(entry, "loss"),
		.accuracy = member(entry, "accuracy"),
		.validation_loss = member(entry, "validation_loss"),
		.validation_accuracy = member(entry, "validation_accuracy"),
	};
}

/* ---- To the disk ---- */

static int note(struct train *train, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	struct report *report = &train->report;
	const double throttled_s = (double)train->publish.status.traind.throttled_us / 1e6;
	cJSON *quarantine;
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!cJSON_AddItemReferenceToObject(object, "epochs", report->epochs) ||
	    !cJSON_AddItemReferenceToObject(object, "metrics", report->metrics) || !stages_add(train, object))
		return error_set(err, -ENOMEM, "run.json: no memory");
	quarantine = quarantine_json(train);
	if (quarantine)
		(void)cJSON_AddItemToObject(object, "quarantine", quarantine);
	if (throttled_s > 0)
		(void)set_number(object, "throttled_s", throttled_s);
	r = json_print(object, &text, err);
	if (r == 0)
		r = run_note(text, err);
	report->noted = r == 0;
	return r;
}

void report_changed(struct train *train)
{
	train->report.noted = false;
}

int report_write(struct train *train, struct error *err)
{
	int r = curves_write(train, train->report.epochs, err);

	return r < 0 || train->report.noted ? r : note(train, err);
}

bool report_may_wait(int code)
{
	return code == -ENOSPC || code == -EDQUOT || code == -EIO;
}

/* ---- Figures of the model ---- */

int report_metrics(struct train *train, struct model_metrics *ret_metrics, struct error *err)
{
	struct error unkept;
	int r = model_metrics(train->model, ret_metrics, err);

	if (r == 0 && model_keep_kernels(train->model, &unkept) < 0)
		log_warning("%s; going on, the next start compiles its kernels again", unkept.text);
	return r;
}

/* ---- A segment's end ---- */

/* For a sentence about the loss: ", accuracy 0.9", or nothing. */
static const char *accuracy_text(const struct model_metrics *metrics, char out[static 32])
{
	*out = '\0';
	if (!isnan(metrics->accuracy))
		(void)snprintf(out, 32, ", accuracy %.4f", metrics->accuracy);
	return out;
}

static void say_segment(const struct train *train, enum split split, uint64_t epoch,
			const struct model_metrics *metrics)
{
	char accuracy[32];

	event_send(&(struct event){ .id = EVENT_EPOCH_FINISHED,
				    .run_id = train->run.id,
				    .epoch = epoch,
				    .split = split_names[split],
				    .step = model_step(train->model),
				    .loss = metrics->loss,
				    .accuracy = metrics->accuracy,
				    .records = metrics->rows },
		   "epoch %" PRIu64 "/%" PRIu64 ": %s loss %.4f%s, %" PRIu64 " rows", epoch,
		   train->run.config.run.epochs, split_names[split], metrics->loss,
		   accuracy_text(metrics, accuracy), metrics->rows);
}

int report_segment(struct train *train, enum split split, uint64_t segment, struct error *err)
{
	struct report *report = &train->report;
	struct model_metrics metrics;
	int r = report_metrics(train, &metrics, err);

	if (r < 0)
		return r;
	/* Means of no rows would be the best ones ever to keep_best. fetchd refuses a training split like
	 * that. */
	if (metrics.rows == 0 && split != SPLIT_TRAIN) {
		log_warning("the %s split: found no record that counts; going on without its figures",
			    split_names[split]);
		return 0;
	}
	if (!update_metrics(train, split, &metrics) || !update_epochs(train, split, segment, &metrics))
		return error_set(err, -ENOMEM, "run.json: no memory");
	report->noted = false;
	publish_metrics(train, split, &metrics);
	r = report_write(train, err);
	if (r == 0 && split == SPLIT_TRAIN && (r = curves_step(train, true, err)) == 0)
		r = curves_histograms(train, segment, err);
	if (r < 0 && !report_may_wait(r))
		return r;
	if (r < 0)
		event_send(&(struct event){ .id = EVENT_FIGURES_LATE,
					    .run_id = train->run.id,
					    .step = model_step(train->model) },
			   "%s; going on, it will be written later", err->text);
	say_segment(train, split, split == SPLIT_TEST ? train->run.config.run.epochs : segment + 1, &metrics);
	return 0;
}

/* ---- On the way ---- */

int report_progress(struct train *train, enum split split, uint64_t segment, uint32_t rows, struct error *err)
{
	struct report *report = &train->report;
	const uint64_t now = clock_us(), passed_us = now - report->shown_us;
	struct model_metrics metrics;
	char accuracy[32];
	int r;

	report->rows += rows;
	if (passed_us < PROGRESS_US)
		return 0;
	r = report_metrics(train, &metrics, err);
	if (r < 0)
		return r;
	log_info("%s %" PRIu64 ", step %" PRIu64 ": loss %.4f%s, %.0f rows/s", split_names[split],
		 segment + 1, model_step(train->model), metrics.loss, accuracy_text(&metrics, accuracy),
		 (double)report->rows * 1e6 / (double)passed_us);
	publish_metrics(train, split, &metrics);
	publish_phase(train, split == SPLIT_TRAIN ? "training" : "evaluating",
		      "%s %" PRIu64 ", step %" PRIu64, split_names[split], segment + 1,
		      model_step(train->model));
	report->shown_us = now;
	report->rows = 0;
	return 0;
}
