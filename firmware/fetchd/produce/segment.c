/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/segment.h"

#include <inttypes.h>

/* Whether a place of the cursor is a window of the plan. In an evaluation, the first source's place has the
 * number of the source that the lane reads instead of a pass. */
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

int segment_check(const struct fetch *fetch, const struct cursor *cursor, struct error *err)
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
			 ", window %" PRIu64 " of %u places, which is not a place in this plan",
			 cursor->version, cursor->split, cursor->segment, cursor->place[0].window,
			 cursor->places);
}

struct stream *segment_evaluated(struct producer *producer, uint32_t own)
{
	struct fetch *fetch = producer->fetch;
	uint32_t lane = fetch->streams->stream[own].lane;
	struct cursor_place *at = &producer->cursor.place[lane];
	enum split split = (enum split)producer->cursor.split;

	while (at->window >= plan_windows(fetch->plan, (uint32_t)at->pass, lane, split) &&
	       at->pass + 1 < fetch->settings->sources)
		*at = (struct cursor_place){ .pass = at->pass + 1 };
	return at->window < plan_windows(fetch->plan, (uint32_t)at->pass, lane, split)
		       ? &fetch->streams->stream[at->pass * fetch->streams->lanes + own]
		       : NULL;
}

bool segment_lane_is_over(const struct producer *producer, uint32_t own)
{
	uint32_t lane = producer->fetch->streams->stream[own].lane;

	return producer->cursor.place[lane].window >=
	       plan_windows(producer->fetch->plan, 0, lane, SPLIT_TRAIN);
}

static bool lanes_are_over(struct producer *producer)
{
	bool train = producer->cursor.split == SPLIT_TRAIN;

	for (uint32_t own = 0; own < producer->fetch->streams->lanes; own++)
		if (train ? !segment_lane_is_over(producer, own) : segment_evaluated(producer, own) != NULL)
			return false;
	return true;
}

bool segment_is_over(struct producer *producer)
{
	uint64_t take = producer->fetch->settings->take_rows;
	bool taken = producer->cursor.split == SPLIT_TRAIN && take > 0 && producer->cursor.rows >= take;

	return taken || lanes_are_over(producer);
}

void segment_begin(struct producer *producer)
{
	bool at_start = producer->cursor.split == SPLIT_TRAIN && producer->cursor.batch == 0;

	producer->pass_over = at_start ? producer->fetch->settings->skip_rows : 0;
}

struct cursor segment_next(const struct producer *producer)
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
