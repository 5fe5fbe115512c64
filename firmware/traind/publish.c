/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/publish.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/gpu/gpu.h"
#include "drivers/notify/notify.h"
#include "traind/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define PUBLISH_US 250000u

void publish_open(struct train *train)
{
	struct publish *publish = &train->publish;
	struct status_traind *traind = &publish->status.traind;
	struct error err;

	if (status_open(STATUS_TRAIND, &publish->page, &err) < 0)
		log_warning("no status page: %s", err.text);
	(void)snprintf(publish->status.run_id, sizeof(publish->status.run_id), "%s", train->run.id);
	traind->epochs = train->run.config.run.epochs;
	traind->loss = traind->accuracy = NAN;
	traind->validation_loss = traind->validation_accuracy = NAN;
}

static void write_page(struct train *train)
{
	struct publish *publish = &train->publish;
	struct status_traind *traind = &publish->status.traind;

	writer_saved(&train->writer, &traind->checkpoint_step, &traind->checkpoint_us);
	if (train->model)
		traind->step = model_step(train->model);
	if (train->gpu)
		(void)snprintf(traind->device, sizeof(traind->device), "%s", gpu_description(train->gpu));
	if (publish->page)
		status_write(publish->page, &publish->status);
	publish->written_us = clock_us();
}

void publish_close(struct train *train)
{
	write_page(train);
	status_closep(&train->publish.page);
}

/* Adds the time since the last batch, divided into what the rank waited for, and work. */
static void add_interval(const struct publish *publish, uint64_t now_us, struct status_rank_times *times)
{
	const uint64_t *waited_us = publish->waited_us;

	if (!publish->batch_us)
		return;
	times->feed_us += waited_us[WAIT_FEED];
	times->others_us += waited_us[WAIT_RANKS];
	times->exchange_us += waited_us[WAIT_EXCHANGE];
	times->device_us += now_us - publish->batch_us - waited_us[WAIT_FEED] - waited_us[WAIT_RANKS] -
			    waited_us[WAIT_EXCHANGE];
}

/* Ends the time since the last batch; the next one begins at `next_us`, 0 = at the next batch. */
static void end_interval(struct publish *publish, uint64_t now_us, uint64_t next_us)
{
	const uint64_t before_us = publish->times.device_us;

	add_interval(publish, now_us, &publish->times);
	publish->status.traind.busy_us += publish->times.device_us - before_us;
	publish->batch_us = next_us;
	memset(publish->waited_us, 0, sizeof(publish->waited_us));
}

void publish_phase(struct train *train, const char *phase, const char *format, ...)
{
	struct status *status = &train->publish.status;
	va_list args;

	/* The time between two phases counts neither as work nor as waiting. */
	end_interval(&train->publish, clock_us(), 0);
	(void)snprintf(status->phase, sizeof(status->phase), "%s", phase);
	va_start(args, format);
	(void)vsnprintf(status->text, sizeof(status->text), format, args);
	va_end(args);
	notify_status("%s: %s", phase, status->text);
	write_page(train);
}

void publish_batch(struct train *train, enum split split, uint64_t segment, uint32_t rows)
{
	const char *phase = split == SPLIT_TRAIN ? "training" : "evaluating";
	struct publish *publish = &train->publish;
	struct status_traind *traind = &publish->status.traind;
	const uint64_t now = clock_us();

	end_interval(publish, now, train->compiling ? 0 : now);
	if (!train->compiling && (strcmp(publish->status.phase, phase) != 0 || publish->split != split ||
				  publish->segment != segment))
		publish_phase(train, phase, "%s %" PRIu64, split_name(split), segment + 1);
	publish->split = split;
	publish->segment = segment;
	if (split == SPLIT_TRAIN) {
		traind->epoch = segment;
		traind->epoch_step++;
		traind->rows += rows;
		publish->times.rows += rows;
	}
	if (now - publish->written_us >= PUBLISH_US)
		write_page(train);
}

void publish_segment(struct train *train, enum split split, uint64_t batches)
{
	struct status_traind *traind = &train->publish.status.traind;

	if (split == SPLIT_TRAIN) {
		traind->epoch_steps = batches;
		traind->epoch_step = 0;
	}
	write_page(train);
}

void publish_metrics(struct train *train, enum split split, const struct model_metrics *metrics)
{
	struct status_traind *traind = &train->publish.status.traind;

	if (split == SPLIT_TRAIN) {
		traind->loss = metrics->loss;
		traind->accuracy = metrics->accuracy;
	} else if (split == SPLIT_VALIDATION) {
		traind->validation_loss = metrics->loss;
		traind->validation_accuracy = metrics->accuracy;
	}
}

void publish_throttled(struct train *train, uint64_t us)
{
	train->publish.status.traind.throttled_us += us;
}

void publish_waited(struct train *train, enum publish_wait wait, uint64_t us)
{
	if (wait != WAIT_EXCHANGE)
		train->publish.status.traind.waited_us += us;
	train->publish.waited_us[wait] += us;
	if (clock_us() - train->publish.written_us >= PUBLISH_US)
		write_page(train);
}

struct status_rank_times publish_times(const struct train *train)
{
	struct status_rank_times times = train->publish.times;

	add_interval(&train->publish, clock_us(), &times);
	return times;
}

void publish_rank(struct train *train, uint32_t rank, const char *host, const char *device)
{
	struct status_traind *traind = &train->publish.status.traind;
	struct status_rank *of = &traind->rank[rank];

	traind->ranks = train->world.count;
	(void)snprintf(of->host, sizeof(of->host), "%s", host);
	(void)snprintf(of->device, sizeof(of->device), "%.*s", (int)sizeof(of->device) - 1, device);
}

void publish_rank_times(struct train *train, uint32_t rank, const struct status_rank_times *times)
{
	struct status_traind *traind = &train->publish.status.traind;

	traind->rank[rank].times = *times;
	if (rank + 1 < traind->ranks)
		return;
	traind->rows = 0;
	for (uint32_t i = 0; i < traind->ranks; i++)
		traind->rows += traind->rank[i].times.rows;
}
