/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "fetchd/produce/produce.h"

#include <string.h>

#define LOOK_US    1000000u
#define STALLED_US 10000u  /* in a second: the workers are too few */
#define FULL_US    900000u /* in a second: they have hardly anything to do ... */
#define CALM_LOOKS 10u     /* ... for so long, and one of them rests */

static uint64_t waited_us(const struct status_fetchd *status, enum stall_stage first, enum stall_stage last)
{
	uint64_t sum = 0;

	for (int stage = (int)first; stage <= (int)last; stage++)
		sum += status->stalled_us[stage];
	return sum;
}

static void set_workers(struct producer *producer, uint32_t workers, const char *reason)
{
	struct fetch *fetch = producer->fetch;

	log_info("decode workers: %u of %u, %s", workers, fetch->workers_max, reason);
	fetch->workers = workers;
	producer->tune.reason = reason;
	/* One that is to rest must not sleep where it would take a signal that another waits for. */
	(void)pthread_cond_broadcast(&fetch->work);
	(void)pthread_cond_broadcast(&fetch->rested);
}

static void tune_workers(struct producer *producer, uint64_t decoding, uint64_t waited)
{
	const struct status_fetchd *status = &producer->status.fetchd;
	struct fetch *fetch = producer->fetch;
	struct tune *tune = &producer->tune;
	bool calm;

	calm = waited == tune->waited_us && status->full_us - tune->full_us > FULL_US;
	tune->calm = calm ? tune->calm + 1 : 0;
	if (decoding - tune->decoding_us > STALLED_US && fetch->workers < fetch->workers_max) {
		/* That was one too few: not again in this process. */
		tune->least = fetch->workers + 1;
		set_workers(producer, fetch->workers + 1, "the trainer waited for them");
	} else if (tune->calm >= CALM_LOOKS && fetch->workers > tune->least) {
		tune->calm = 0;
		set_workers(producer, fetch->workers - 1, "the ring was full all the time");
	}
}

static void set_ahead(struct producer *producer, uint32_t ahead, const char *reason)
{
	log_info("windows read ahead: %u a stream, %s", ahead, reason);
	producer->fetch->ahead = ahead;
	producer->tune.ahead_reason = reason;
}

/* A store that takes its time is asked for more at once. */
static void tune_ahead(struct producer *producer, uint64_t arriving)
{
	struct fetch *fetch = producer->fetch;
	const char *limit;
	uint32_t most = streams_ahead_max(fetch, &limit);

	if (fetch->ahead > most)
		set_ahead(producer, most, limit);
	else if (arriving - producer->tune.arriving_us <= STALLED_US)
		return;
	else if (fetch->ahead < most)
		set_ahead(producer, fetch->ahead < most / 2 ? fetch->ahead * 2 : most,
			  "the trainer waited for windows to arrive");
	else
		producer->tune.ahead_reason = limit;
}

void tune_look(struct producer *producer)
{
	const struct status_fetchd *status = &producer->status.fetchd;
	struct tune *tune = &producer->tune;
	uint64_t now_us = clock_us(), arriving, decoding, waited;

	if (now_us - tune->looked_us < LOOK_US)
		return;
	arriving = waited_us(status, STALL_CACHE, STALL_TRANSFER);
	decoding = waited_us(status, STALL_WORKER, STALL_GATHER);
	waited = waited_us(status, STALL_LIST, STALL_GATHER);
	tune_workers(producer, decoding, waited);
	tune_ahead(producer, arriving);
	tune->looked_us = now_us;
	tune->arriving_us = arriving;
	tune->decoding_us = decoding;
	tune->waited_us = waited;
	tune->full_us = status->full_us;
}

void tune_begin(struct producer *producer)
{
	struct fetch *fetch = producer->fetch;
	bool fixed = fetch->run.config.fetch.decode_workers > 0;

	producer->tune = (struct tune){ .least = fixed ? fetch->workers_max : 1,
					.reason = fixed ? "fetch.decode_workers says so" : "one a core",
					.ahead_reason = "the next one" };
	fetch->ahead = AHEAD_LEAST;
}

/* The source that may ask for the least at once, of those whose store says why. */
static void show_pace(const struct fetch *fetch, struct status_fetchd *status)
{
	const char *why = "";
	uint64_t fewest = UINT64_MAX;
	uint32_t which = 0;

	for (uint32_t i = 0; i < fetch->sources; i++) {
		const char *pace = atomic_load(&fetch->source[i].pace);
		uint64_t at_once = atomic_load(&fetch->source[i].at_once);

		if (!pace || at_once >= fewest)
			continue;
		why = pace;
		fewest = at_once;
		which = i + 1;
	}
	if (which > 0 && fetch->sources > 1)
		(void)snprintf(status->pace_reason, sizeof(status->pace_reason), "source %u: %s", which, why);
	else
		(void)snprintf(status->pace_reason, sizeof(status->pace_reason), "%s", why);
}

void tune_show(const struct producer *producer, struct status_fetchd *status)
{
	const struct fetch *fetch = producer->fetch;
	const char *limit;

	status->at_once = status->at_once_max = 0;
	status->hedged = status->hedges_won = 0;
	for (uint32_t i = 0; i < fetch->sources; i++) {
		const struct source *source = &fetch->source[i];

		status->at_once += (uint32_t)atomic_load(&source->at_once);
		status->hedged += atomic_load(&source->hedged);
		status->hedges_won += atomic_load(&source->hedges_won);
		status->at_once_max += fetch->connections_max;
	}
	status->part_bytes = atomic_load(&fetch->part_bytes);
	status->workers = fetch->workers;
	status->workers_max = fetch->workers_max;
	status->ahead = fetch->ahead;
	status->ahead_max = streams_ahead_max(fetch, &limit);
	status->memory_bytes = atomic_load(&fetch->budget.memory);
	status->spilled_bytes = atomic_load(&fetch->budget.spilled);
	show_pace(fetch, status);
	(void)snprintf(status->workers_reason, sizeof(status->workers_reason), "%s", producer->tune.reason);
	(void)snprintf(status->ahead_reason, sizeof(status->ahead_reason), "%s", producer->tune.ahead_reason);
}
