/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/report.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "traind/figures.h"
#include "traind/train.h"

#include <inttypes.h>
#include <math.h>

#define PROGRESS_US 5000000u

void report_open(struct train *train)
{
	train->report.shown_us = clock_us();
}

/* Prints ", accuracy 0.9", to follow the loss in a sentence, or nothing if there is no accuracy. */
static const char *accuracy_text(const struct model_metrics *metrics, char out[static 32])
{
	*out = '\0';
	if (!isnan(metrics->accuracy))
		(void)snprintf(out, 32, ", accuracy %.4f", metrics->accuracy);
	return out;
}

/* ---- The end of a segment ---- */

static void say_segment(const struct train *train, enum split split, uint64_t epoch,
			const struct model_metrics *metrics)
{
	const uint64_t epochs = train->run.config.run.epochs;
	char accuracy[32], when[64];

	/* After an early stop the epoch of the test is not the last one of the configuration. */
	(void)snprintf(when, sizeof(when),
		       split == SPLIT_TEST ? "after %" PRIu64 " of %" PRIu64 " epochs"
					   : "epoch %" PRIu64 "/%" PRIu64,
		       epoch, epochs);

	event_send(&(struct event){ .id = EVENT_EPOCH_FINISHED,
				    .run_id = train->run.id,
				    .epoch = epoch,
				    .split = split_name(split),
				    .step = model_step(train->model),
				    .loss = metrics->loss,
				    .accuracy = metrics->accuracy,
				    .records = metrics->rows },
		   "%s: %s loss %.4f%s, %" PRIu64 " rows", when, split_name(split), metrics->loss,
		   accuracy_text(metrics, accuracy), metrics->rows);
}

static int write_segment(struct train *train, enum split split, uint64_t segment,
			 const struct model_metrics *metrics, struct error *err)
{
	int r = record_write(train, err);

	if (r == 0 && split == SPLIT_TRAIN && (r = curves_step(train, metrics, true, err)) == 0)
		r = curves_histograms(train, segment, err);
	return r;
}

int report_segment(struct train *train, enum split split, uint64_t segment, struct error *err)
{
	struct model_metrics metrics;
	int r = figures_get(train->model, &metrics, err);

	if (r < 0)
		return r;
	/* Leave out a pass without rows: its mean loss is 0, which would count as the best loss ever. fetchd
	 * refuses a training split without rows. */
	if (metrics.rows == 0 && split != SPLIT_TRAIN) {
		log_warning("the %s split: found no record that counts; going on without its figures",
			    split_name(split));
		return 0;
	}
	r = record_pass(train, split, segment, &metrics, err);
	if (r == 0 && split != SPLIT_TRAIN)
		r = record_confusion(train, split, segment, err);
	if (r < 0)
		return r;
	publish_metrics(train, split, &metrics);
	r = write_segment(train, split, segment, &metrics, err);
	if (r < 0 && !figures_may_wait(r))
		return r;
	if (r < 0)
		event_send(&(struct event){ .id = EVENT_FIGURES_LATE,
					    .run_id = train->run.id,
					    .step = model_step(train->model) },
			   "%s; going on, it will be written later", err->text);
	say_segment(train, split, split == SPLIT_TEST ? record_epochs(train) : segment + 1, &metrics);
	return 0;
}

int report_counts(struct train *train, enum split split, struct error *err)
{
	CLEANUP(free_ptr) uint32_t *counts = NULL;
	struct model_metrics metrics;
	uint64_t classes;
	int r = figures_get(train->model, &metrics, err);

	if (r < 0 || split == SPLIT_TRAIN || metrics.rows == 0)
		return r;
	return world_confusion(train, &counts, &classes, err);
}

/* ---- Progress ---- */

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
	r = figures_get(train->model, &metrics, err);
	if (r < 0)
		return r;
	log_info("%s %" PRIu64 ", step %" PRIu64 ": loss %.4f%s, %.0f rows/s", split_name(split), segment + 1,
		 model_step(train->model), metrics.loss, accuracy_text(&metrics, accuracy),
		 (double)report->rows * 1e6 / (double)passed_us);
	publish_metrics(train, split, &metrics);
	publish_phase(train, split == SPLIT_TRAIN ? "training" : "evaluating",
		      "%s %" PRIu64 ", step %" PRIu64, split_name(split), segment + 1,
		      model_step(train->model));
	report->shown_us = now;
	report->rows = 0;
	return 0;
}
