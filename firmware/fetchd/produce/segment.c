/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/produce.h"

#include <inttypes.h>
#include <string.h>

/* ---- Where a cursor stands ---- */

/* A place of training, or in an evaluation of the lane's current source. */
static bool place_fits(const struct plan *plan, const struct cursor *cursor, uint32_t source, uint32_t lane)
{
	const struct plan_settings *settings = plan_settings_of(plan);
	const struct cursor_place *at = &cursor->place[source * settings->lanes + lane];

	if (cursor->split == SPLIT_TRAIN || source > 0)
		return at->window <= plan_windows(plan, source, lane, SPLIT_TRAIN);
	return at->pass < settings->sources &&
	       at->window <= plan_windows(plan, (uint32_t)at->pass, lane, (enum split)cursor->split);
}

static bool places_fit(const struct plan *plan, const struct cursor *cursor)
{
	const struct plan_settings *settings = plan_settings_of(plan);

	if (cursor->places != 0 && cursor->places != settings->sources * settings->lanes)
		return false;
	for (uint32_t source = 0; source < settings->sources; source++)
		for (uint32_t lane = 0; lane < settings->lanes; lane++)
			if (!place_fits(plan, cursor, source, lane))
				return false;
	return true;
}

int cursor_check(const struct fetch *fetch, const struct cursor *cursor, struct error *err)
{
	const struct plan *plan = fetch->plan;
	uint32_t world = fetch->world > 1 ? fetch->world : 0;
	uint64_t segments = cursor->split == SPLIT_TEST ? 1 : plan_settings_of(plan)->epochs;

	if (cursor->rank != fetch->rank || cursor->world != world)
		return error_set(
			err, -EBADMSG,
			"the trainer asks as rank %u of %u, this is kiln-fetchd --rank %u --world %u",
			cursor->rank, cursor->world ? cursor->world : 1, fetch->rank, fetch->world);
	if (cursor->version == CURSOR_VERSION && cursor->split < SPLIT_MAX &&
	    (cursor->ended || (cursor->segment < segments &&
			       plan_shards(plan, (enum split)cursor->split) > 0 && places_fit(plan, cursor))))
		return 0;
	return error_set(err, -EBADMSG,
			 "the trainer asks for cursor version %u, split %u, segment %" PRIu64
			 ", window %" PRIu64 " of %u places, which is no place of this plan",
			 cursor->version, cursor->split, cursor->segment, cursor->place[0].window,
			 cursor->places);
}

struct stream *segment_evaluated(struct producer *producer)
{
	struct fetch *fetch = producer->fetch;
	uint32_t sources = plan_settings_of(fetch->plan)->sources;

	for (uint32_t own = 0; own < fetch->lanes; own++) {
		uint32_t lane = fetch->stream[own].lane;
		struct cursor_place *at = &producer->cursor.place[lane];
		enum split split = (enum split)producer->cursor.split;

		while (at->window >= plan_windows(fetch->plan, (uint32_t)at->pass, lane, split) &&
		       at->pass + 1 < sources)
			*at = (struct cursor_place){ .pass = at->pass + 1 };
		if (at->window < plan_windows(fetch->plan, (uint32_t)at->pass, lane, split))
			return &fetch->stream[at->pass * fetch->lanes + own];
	}
	return NULL;
}

bool segment_lane_is_over(const struct producer *producer, uint32_t own)
{
	uint32_t lane = producer->fetch->stream[own].lane;

	return producer->cursor.place[lane].window >=
	       plan_windows(producer->fetch->plan, 0, lane, SPLIT_TRAIN);
}

static bool lanes_are_over(const struct producer *producer)
{
	for (uint32_t own = 0; own < producer->fetch->lanes; own++)
		if (!segment_lane_is_over(producer, own))
			return false;
	return true;
}

bool segment_is_over(struct producer *producer)
{
	uint64_t take = plan_settings_of(producer->fetch->plan)->take_rows;

	if (producer->cursor.split != SPLIT_TRAIN)
		return !segment_evaluated(producer);
	return (take > 0 && producer->cursor.rows >= take) || lanes_are_over(producer);
}

void segment_begin(struct producer *producer)
{
	bool at_start = producer->cursor.split == SPLIT_TRAIN && producer->cursor.batch == 0;

	producer->pass_over = at_start ? plan_settings_of(producer->fetch->plan)->skip_rows : 0;
}

/* ---- Its end ---- */

/* The figures of no rows would be the best ones. */
static enum step refuse_unvalidated(struct producer *producer, const char *monitor)
{
	const struct plan *plan = producer->fetch->plan;
	const char *filter = plan_settings_of(plan)->filter;
	struct error err;

	(void)error_set(&err, -EBADMSG,
			"%s: found a figure of the validation, whose %" PRIu64
			" shards hold no rows%s%s%s, allowed: \"loss\" or \"accuracy\", or shards with rows",
			monitor, plan_shards(plan, SPLIT_VALIDATION), *filter ? " of order.filter \"" : "",
			filter, *filter ? "\"" : "");
	return produce_error(producer, &err, NULL, 0);
}

/* The run would end with its initial weights. */
static enum step refuse_untrained(struct producer *producer)
{
	const struct plan *plan = producer->fetch->plan;
	const struct plan_settings *settings = plan_settings_of(plan);
	char besides[FILTER_BYTES + 64] = "";
	struct error err;

	if (settings->skip_rows || *settings->filter)
		(void)snprintf(besides, sizeof(besides), ", order.skip_rows %" PRIu64 ", order.filter \"%s\"",
			       settings->skip_rows, settings->filter);
	(void)error_set(
		&err, -EBADMSG,
		"the %" PRIu64 " train shards hold %u rows, too few for a batch: run.batch_rows is %" PRIu64
		", order.remainder \"%s\"%s",
		plan_shards(plan, SPLIT_TRAIN), producer->open ? producer->open->rows : 0,
		settings->batch_rows, settings->remainder == REMAINDER_DROP ? "drop" : "keep", besides);
	return produce_error(producer, &err, NULL, 0);
}

/* The other sources' passes go on where they are. */
static struct cursor next_segment(const struct producer *producer)
{
	const struct plan *plan = producer->fetch->plan;
	enum split split = (enum split)producer->cursor.split;
	struct cursor next = producer->cursor;

	next.batch = next.rows = 0;
	next.ended = !plan_next_segment(plan, &split, &next.segment);
	next.split = split;
	for (uint32_t lane = 0; lane < plan_settings_of(plan)->lanes; lane++)
		next.place[lane] = (struct cursor_place){ .pass = split == SPLIT_TRAIN ? next.segment : 0 };
	return next;
}

/* Another rank may have rows where this one has none. */
static bool is_empty(const struct producer *producer)
{
	return producer->cursor.batch == 0 && producer->fetch->world == 1;
}

enum step segment_end(struct producer *producer)
{
	const struct plan_settings *settings = plan_settings_of(producer->fetch->plan);
	struct pending *pending = producer->open;
	const char *monitor = config_validation_monitor(&producer->fetch->run.config);
	bool train = producer->cursor.split == SPLIT_TRAIN;
	enum step step;

	if (pending && pending->rows > 0 && (settings->remainder == REMAINDER_KEEP || !train)) {
		produce_batch(producer);
		return STEP_DONE;
	}
	if (train && is_empty(producer))
		return refuse_untrained(producer);
	if (producer->cursor.split == SPLIT_VALIDATION && monitor && is_empty(producer))
		return refuse_unvalidated(producer, monitor);
	step = pending ? STEP_DONE : produce_claim(producer, RING_END_SEGMENT, &pending);
	if (step != STEP_DONE)
		return step;
	pending->kind = RING_END_SEGMENT;
	pending->rows = 0;
	producer->open = NULL;
	producer->cursor = next_segment(producer);
	segment_begin(producer);
	produce_seal(producer, pending);
	return STEP_DONE;
}
