/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/curves.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/run/spool.h"
#include "model/formats/histogram.h"
#include "model/formats/names.h"
#include "traind/figures.h"
#include "traind/train.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define POINTS_MAX       4u
#define CONFIG_BYTES_MAX (4u << 20)

static const char *const folders[] = {
	[CURVE_TRAIN] = "logs/train",
	[CURVE_VALIDATION] = "logs/validation",
	[CURVE_STEPS] = "logs/steps",
};
static_assert(sizeof(folders) / sizeof(folders[0]) == CURVE_MAX, "every curve has its folder");

/* TensorBoard's tag for each member of an epoch in run.json. */
static const struct {
	const char *tag, *member;
} points[][POINTS_MAX] = {
	[CURVE_TRAIN] = { { "epoch_loss", "loss" },
			  { "epoch_accuracy", "accuracy" },
			  { "epoch_top_k_categorical_accuracy", "top_k_accuracy" },
			  { "epoch_learning_rate", "learning_rate" } },
	[CURVE_VALIDATION] = { { "epoch_loss", "validation_loss" },
			       { "epoch_accuracy", "validation_accuracy" },
			       { "epoch_top_k_categorical_accuracy", "validation_top_k_accuracy" } },
};

/* ---- Open ---- */

static struct curve *curve_of(struct train *train, enum curve_kind kind)
{
	return &train->curves.curve[kind];
}

/* Writes kiln.conf between lines of ```, because TensorBoard renders text as Markdown. */
static int write_config(struct tfevents *events, struct error *err)
{
	CLEANUP(free_ptr) char *config = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = file_read(path_of(PATH_RUN, "config", path), CONFIG_BYTES_MAX, &config, NULL, err);

	if (r < 0)
		return r;
	if (asprintf(&text, "```\n%s\n```", config) < 0)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	return tfevents_text(events, "config", 0, text, err);
}

/* Points from curve->next on, which an earlier process wrote, are written again: the session start tells
 * TensorBoard to drop them. */
static int open_curve(struct train *train, enum curve_kind kind, struct error *err)
{
	struct curve *curve = curve_of(train, kind);
	char path[PATH_BYTES];
	int r = 0;

	if (curve->events)
		return 0;
	r = tfevents_open(spool_path(train->run.id, folders[kind], path),
			  train->run.config.tensorboard.segment_bytes, &curve->events, err);
	if (r == 0)
		r = tfevents_session_start(curve->events, curve->next, err);
	if (r == 0 && kind == CURVE_TRAIN && curve->next == 0)
		r = write_config(curve->events, err);
	return r;
}

/* Closes the file after an error: the next attempt begins a new file. */
static int finish(struct curve *curve, int r, uint64_t next)
{
	if (r < 0)
		tfevents_close(TAKE(curve->events));
	else
		curve->next = next;
	return r;
}

void curves_open(struct train *train, uint64_t train_epochs, uint64_t validation_epochs)
{
	curve_of(train, CURVE_TRAIN)->next = train_epochs;
	curve_of(train, CURVE_VALIDATION)->next = validation_epochs;
	curve_of(train, CURVE_STEPS)->next = model_step(train->model) + 1;
}

void curves_close(struct train *train)
{
	for (int kind = 0; kind < CURVE_MAX; kind++)
		tfevents_close(TAKE(curve_of(train, (enum curve_kind)kind)->events));
}

/* ---- By epoch ---- */

/* Returns the number of points; 0 while the pass is not complete. */
static uint32_t points_of(enum curve_kind kind, const cJSON *epoch,
			  struct tfevents_scalar ret_points[static POINTS_MAX])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < POINTS_MAX && points[kind][i].tag; i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(epoch, points[kind][i].member);

		if (value)
			ret_points[count++] =
				(struct tfevents_scalar){ points[kind][i].tag, (float)value->valuedouble };
	}
	return count;
}

static int write_epochs(struct train *train, enum curve_kind kind, const cJSON *epochs, struct error *err)
{
	struct curve *curve = curve_of(train, kind);
	struct tfevents_scalar values[POINTS_MAX];

	for (;;) {
		uint64_t epoch = curve->next;
		const uint32_t count = points_of(kind, history_from(epochs, epoch, &epoch), values);
		int r;

		if (count == 0)
			return 0;
		r = open_curve(train, kind, err);
		/* Write each value as a record of its own, as Keras does. */
		for (uint32_t i = 0; r == 0 && i < count; i++)
			r = tfevents_scalars(curve->events, epoch, &values[i], 1, err);
		if (r == 0)
			r = tfevents_sync(curve->events, err);
		r = finish(curve, r, epoch + 1);
		if (r < 0)
			return r;
	}
}

int curves_write(struct train *train, const cJSON *epochs, struct error *err)
{
	int r = write_epochs(train, CURVE_TRAIN, epochs, err);

	return r < 0 ? r : write_epochs(train, CURVE_VALIDATION, epochs, err);
}

/* ---- Histograms ---- */

static int write_histograms(struct train *train, uint64_t epoch, const char *suffix,
			    const struct model_tensor *tensors, uint32_t count, struct error *err)
{
	struct tfevents *events = curve_of(train, CURVE_TRAIN)->events;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		struct histogram_bucket buckets[HISTOGRAM_BUCKETS];
		char tag[TFEVENTS_TAG_MAX + 64];

		if (!name_is_parameter(tensors[i].name) || strcmp(tensors[i].dtype, "F32") != 0)
			continue;
		histogram_of(tensors[i].data, tensors[i].bytes / sizeof(float), buckets);
		(void)snprintf(tag, sizeof(tag), "%s/%s", tensors[i].name, suffix);
		r = tfevents_histogram(events, tag, epoch, buckets, err);
	}
	return r;
}

static int write_weights(struct train *train, uint64_t epoch, struct error *err)
{
	const struct model_tensor *tensors;
	uint32_t count;
	int r;

	writer_wait(train); /* the model has one snapshot only: wait until the writer does not use it */
	r = model_snapshot(train->model, err);
	if (r < 0)
		return r;
	r = model_snapshot_tensors(train->model, &tensors, &count, err);
	if (r == 0)
		r = write_histograms(train, epoch, "histogram", tensors, count, err);
	model_snapshot_release(train->model);
	return r;
}

int curves_histograms(struct train *train, uint64_t epoch, struct error *err)
{
	const uint64_t every = train->run.config.tensorboard.histogram_epochs;
	struct curve *curve = curve_of(train, CURVE_TRAIN);
	const struct model_tensor *gradients;
	uint32_t count;
	int r;

	if (!every || epoch % every != 0 || !curve->events || curve->next != epoch + 1)
		return 0;
	if ((r = write_weights(train, epoch, err)) == 0 &&
	    (r = model_gradients(train->model, &gradients, &count, err)) == 0 &&
	    (r = write_histograms(train, epoch, "gradient/histogram", gradients, count, err)) == 0)
		r = tfevents_sync(curve->events, err);
	return finish(curve, r, curve->next);
}

/* ---- By step ---- */

void curves_rest(struct train *train)
{
	const struct status_traind *status = &train->publish.status.traind;

	train->curves.since_us = clock_us();
	train->curves.since_rows = status->rows;
	train->curves.since_waited_us = status->waited_us;
}

/* Removes values that are NaN; returns how many remain. */
static uint32_t drop_nan(struct tfevents_scalar *values, uint32_t count)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!isnan(values[i].value))
			values[left++] = values[i];
	return left;
}

/* Writes the point of a step; its rates cover the time since the previous point. */
static int write_step(struct train *train, uint64_t step, uint64_t now_us,
		      const struct model_metrics *metrics, struct error *err)
{
	const struct curves *curves = &train->curves;
	const struct status_traind *status = &train->publish.status.traind;
	const double passed_us = (double)(now_us - curves->since_us);
	uint64_t skipped = 0;
	double scale = 1;
	int r = model_loss_scale(train->model, &scale, &skipped, err);

	if (r == 0)
		r = open_curve(train, CURVE_STEPS, err);
	if (r == 0) {
		struct tfevents_scalar values[] = {
			{ "batch_loss", (float)metrics->loss },
			{ "batch_accuracy", (float)metrics->accuracy },
			{ "batch_learning_rate", (float)model_learning_rate(train->model) },
			{ "records_per_second",
			  (float)((double)(status->rows - curves->since_rows) * 1e6 / passed_us) },
			{ "stall_percent",
			  (float)((double)(status->waited_us - curves->since_waited_us) * 100 / passed_us) },
			{ "loss_scale", (float)scale }, /* mixed_float16 only, as is the next one */
			{ "skipped_steps", (float)skipped },
		};
		const bool scaled = train->run.config.model.precision == PRECISION_MIXED_FLOAT16;
		const uint32_t count = sizeof(values) / sizeof(values[0]) - (scaled ? 0 : 2);

		r = tfevents_scalars(curve_of(train, CURVE_STEPS)->events, step, values,
				     drop_nan(values, count), err);
	}
	return finish(curve_of(train, CURVE_STEPS), r, step + 1);
}

int curves_images(struct train *train, uint32_t width, uint32_t height, const struct tfevents_image *images,
		  uint32_t count, struct error *err)
{
	struct curve *curve = curve_of(train, CURVE_STEPS);
	int r = open_curve(train, CURVE_STEPS, err);

	if (r == 0)
		r = tfevents_images(curve->events, "pictures", curve->next, width, height, images, count,
				    err);
	if (r == 0)
		r = tfevents_sync(curve->events, err);
	return finish(curve, r, curve->next); /* the other points of this step follow */
}

bool curves_due(const struct train *train)
{
	const uint64_t every = train->run.config.tensorboard.every_steps;

	return every && model_step(train->model) % every == 0;
}

int curves_step(struct train *train, const struct model_metrics *metrics, bool epoch_ends, struct error *err)
{
	const uint64_t step = model_step(train->model);
	struct curves *curves = &train->curves;
	int r;

	if (curve_of(train, CURVE_STEPS)->next > step)
		return 0;
	r = write_step(train, step, clock_us(), metrics, err);
	if (r == 0 && epoch_ends) /* training waits for the disk, so do this once per epoch */
		r = tfevents_sync(curve_of(train, CURVE_STEPS)->events, err);
	curves_rest(train);
	if (r < 0 && !figures_may_wait(r))
		return r;
	if (r < 0 && !curves->said)
		log_warning("%s; going on, the points by step are lost", err->text);
	curves->said = r < 0;
	return 0;
}
