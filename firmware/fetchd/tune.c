/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/tune.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "fetchd/shard/sources.h"
#include "fetchd/shard/work.h"

#include <string.h>

#define LOOK_US    1000000u
#define STALLED_US 10000u  /* the reader waited longer in a second: too few workers or windows ahead */
#define FULL_US    900000u /* the ring was full longer in a second: the workers have hardly anything to do */
#define CALM_LOOKS 10u     /* successive seconds with a full ring until one worker rests */

/* ---- Decisions ---- */

uint32_t tune_workers(struct tune *tune, uint32_t workers, uint32_t workers_max,
		      const struct tune_account *now)
{
	const struct tune_account *last = &tune->last;
	bool calm = now->waited_us == last->waited_us && now->full_us - last->full_us > FULL_US;

	tune->calm = calm ? tune->calm + 1 : 0;
	if (now->decoding_us - last->decoding_us > STALLED_US && workers < workers_max) {
		/* Never shrink below this again. */
		tune->workers_least = workers + 1;
		tune->workers_reason = "the trainer waited for them";
		return workers + 1;
	}
	if (tune->calm >= CALM_LOOKS && workers > tune->workers_least) {
		tune->calm = 0;
		tune->workers_reason = "the ring was full all the time";
		return workers - 1;
	}
	return workers;
}

uint32_t tune_ahead(struct tune *tune, uint32_t ahead, uint32_t most, const char *limit,
		    const struct tune_account *now)
{
	if (ahead > most) {
		tune->ahead_reason = limit;
		return most;
	}
	if (now->arriving_us - tune->last.arriving_us <= STALLED_US)
		return ahead;
	if (ahead == most) {
		tune->ahead_reason = limit;
		return ahead;
	}
	tune->ahead_reason = "the trainer waited for windows to arrive";
	return ahead < most / 2 ? ahead * 2 : most;
}

/* ---- Looks ---- */

static uint64_t waited_us(const struct stall *stall, enum stall_stage first, enum stall_stage last)
{
	uint64_t sum = 0;

	for (int stage = (int)first; stage <= (int)last; stage++)
		sum += stall->stalled_us[stage];
	return sum;
}

static void set_workers(struct tune *tune, struct work *work, const struct tune_account *now)
{
	uint32_t workers = tune_workers(tune, work->workers, work->workers_max, now);

	if (workers == work->workers)
		return;
	log_info("decode workers: %u of %u, %s", workers, work->workers_max, tune->workers_reason);
	work_set_workers(work, workers);
}

static void set_ahead(struct tune *tune, struct fetch *fetch, const struct tune_account *now)
{
	const char *limit;
	uint32_t most = streams_ahead_max(fetch, &limit),
		 ahead = tune_ahead(tune, fetch->windows->ahead, most, limit, now);

	if (ahead == fetch->windows->ahead)
		return;
	log_info("windows read ahead: %u a stream, %s", ahead, tune->ahead_reason);
	fetch->windows->ahead = ahead;
}

void tune_look(struct tune *tune, struct fetch *fetch, const struct stall *stall)
{
	uint64_t now_us = clock_us();
	struct tune_account now;

	if (now_us - tune->looked_us < LOOK_US)
		return;
	now = (struct tune_account){ .arriving_us = waited_us(stall, STALL_CACHE, STALL_TRANSFER),
				     .decoding_us = waited_us(stall, STALL_WORKER, STALL_DECODE),
				     .waited_us = waited_us(stall, STALL_LIST, STALL_DECODE),
				     .full_us = stall->full_us };
	set_workers(tune, fetch->work, &now);
	set_ahead(tune, fetch, &now);
	tune->looked_us = now_us;
	tune->last = now;
}

static uint32_t ahead_first(const struct fetch *fetch)
{
	const char *limit;
	uint32_t most;

	if (!fetch->objects)
		return AHEAD_LEAST;
	most = streams_ahead_max(fetch, &limit);
	return most < AHEAD_OBJECTS ? most : AHEAD_OBJECTS;
}

void tune_begin(struct tune *tune, struct fetch *fetch)
{
	bool fixed = fetch->run.config.fetch.decode_workers > 0;

	*tune = (struct tune){ .workers_least = fixed ? fetch->work->workers_max : 1,
			       .workers_reason = fixed ? "fetch.decode_workers says so" : "one per core",
			       .ahead_reason = "the next window" };
	fetch->windows->ahead = ahead_first(fetch);
}

/* ---- Status ---- */

/* Returns why no store gives a reason. */
static const char *no_pace(const struct sources *sources)
{
	for (uint32_t i = 0; i < sources->count; i++)
		if (strncmp(sources->source[i].url, "file://", 7) != 0)
			return "no request was made yet";
	return "a folder is read without requests";
}

/* Shows the reason of one store: of the stores that give a reason, the one that allows the fewest requests at
 * once. Each thread of a source has a store. */
static void show_pace(const struct fetch *fetch, struct status_fetchd *status)
{
	const struct sources *sources = fetch->sources;
	const char *why = no_pace(sources);
	uint64_t fewest = UINT64_MAX;
	uint32_t which = 0;

	for (uint32_t i = 0; i < sources->count * sources->threads; i++) {
		const uint32_t source = i / sources->threads;
		const struct store_counters *counters =
			&sources->source[source].network[i % sources->threads].counters;

		if (!counters->pace || counters->at_once >= fewest)
			continue;
		why = counters->pace;
		fewest = counters->at_once;
		which = source + 1;
	}
	if (which > 0 && sources->count > 1)
		(void)snprintf(status->pace_reason, sizeof(status->pace_reason), "source %u: %s", which, why);
	else
		(void)snprintf(status->pace_reason, sizeof(status->pace_reason), "%s", why);
}

void tune_show(const struct tune *tune, const struct fetch *fetch, struct status_fetchd *status)
{
	const char *limit;

	status->at_once = status->at_once_max = 0;
	status->hedged = status->hedges_won = 0;
	for (uint32_t i = 0; i < fetch->sources->count; i++) {
		const struct store_counters counters = source_counters(&fetch->sources->source[i]);

		status->at_once += (uint32_t)counters.at_once;
		status->hedged += counters.hedged;
		status->hedges_won += counters.hedges_won;
		status->at_once_max += fetch->sources->connections_max;
	}
	status->part_bytes = atomic_load(&fetch->sources->part_bytes);
	status->workers = fetch->work->workers;
	status->workers_max = fetch->work->workers_max;
	status->ahead = fetch->windows->ahead;
	status->ahead_max = streams_ahead_max(fetch, &limit);
	status->memory_bytes = atomic_load(&fetch->budget.memory);
	status->spilled_bytes = atomic_load(&fetch->budget.spilled);
	show_pace(fetch, status);
	(void)snprintf(status->workers_reason, sizeof(status->workers_reason), "%s", tune->workers_reason);
	(void)snprintf(status->ahead_reason, sizeof(status->ahead_reason), "%s", tune->ahead_reason);
}
