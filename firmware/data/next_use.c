/* SPDX-License-Identifier: Apache-2.0 */
#include "data/next_use.h"
#include "data/order.h"

#include <math.h>

/* Where a shard stands in a pass. */
struct stand {
	uint32_t lane;
	uint64_t window;
	double share; /* part of the lane's pass before this window: 0 .. 1 */
};

static double share_of(const struct plan *plan, uint32_t source, enum split split, uint32_t lane,
		       uint64_t window)
{
	uint64_t windows = plan_windows(plan, source, lane, split);

	return windows > 0 ? (double)window / (double)windows : 0;
}

static struct stand stand_at(const struct plan *plan, uint32_t source, enum split split, uint64_t position)
{
	const struct plan_settings *settings = plan_settings_of(plan);
	struct stand stand = { .lane = (uint32_t)(position % settings->lanes),
			       .window = position / settings->lanes / settings->window_shards };

	stand.share = share_of(plan, source, split, stand.lane, stand.window);
	return stand;
}

static struct stand stand_in_pass(const struct plan *plan, uint32_t source, uint64_t pass, uint64_t index)
{
	uint64_t shards = plan_source_shards(plan, source, SPLIT_TRAIN);

	return stand_at(plan, source, SPLIT_TRAIN,
			order_shard_position(plan_settings_of(plan)->seed, source, pass, shards, index));
}

/* Whether the run has a pass of this number. A pass over the first source is an epoch. Other sources begin a
 * new pass whenever the last one is used up. */
static bool has_pass(const struct plan *plan, uint32_t source, uint64_t pass)
{
	return source > 0 || pass < plan_settings_of(plan)->epochs;
}

/* A train shard. During an evaluation the first source's next read is in the next epoch. Otherwise: in this
 * pass, where its window is still to come, else in the next pass. Sources other than the first have a pass of
 * their own in each lane; the slowest lane's pass is the one that still reads. */
static double train_use(const struct plan *plan, const struct cursor *cursor, uint32_t source, uint64_t index,
			uint32_t held)
{
	uint32_t lanes = plan_settings_of(plan)->lanes;
	const struct cursor_place *place = &cursor->place[(size_t)source * lanes], *at;
	uint64_t pass = source > 0 ? place->pass : cursor->segment;
	struct stand stand, next;

	if (cursor->split != SPLIT_TRAIN && source == 0) {
		/* An evaluation uses the first source's places: they say nothing about training. */
		if (cursor->split == SPLIT_TEST || !has_pass(plan, source, ++pass))
			return INFINITY;
		stand = stand_in_pass(plan, source, pass, index);
		if (held == 0 || stand.window > 0)
			return stand.share;
		return has_pass(plan, source, pass + 1)
			       ? 1 + stand_in_pass(plan, source, pass + 1, index).share
			       : INFINITY;
	}
	for (uint32_t lane = 1; source > 0 && lane < lanes; lane++)
		pass = place[lane].pass < pass ? place[lane].pass : pass;
	stand = stand_in_pass(plan, source, pass, index);
	at = &place[stand.lane];
	if (stand.window >= at->window + held && (source == 0 || at->pass == pass))
		return stand.share - share_of(plan, source, SPLIT_TRAIN, stand.lane, at->window);
	if (!has_pass(plan, source, pass + 1))
		return INFINITY;
	next = stand_in_pass(plan, source, pass + 1, index);
	return 1 + next.share - share_of(plan, source, SPLIT_TRAIN, next.lane, place[next.lane].window);
}

/* Whether the evaluation that runs now still reads this window. An evaluation reads a lane's sources one
 * after the other; at->pass is the number of the source that it reads. */
static bool is_ahead(const struct cursor_place *at, uint32_t source, uint64_t window, uint32_t held)
{
	return source > at->pass + (held > 0) || (source == at->pass && window >= at->window + held);
}

/* A validation or test shard: now, after this epoch, or after the last epoch. */
static double evaluation_use(const struct plan *plan, const struct cursor *cursor, uint32_t source,
			     enum split split, uint64_t index, uint32_t held)
{
	struct stand stand = stand_at(plan, source, split, index);
	double now =
		cursor->split == SPLIT_TRAIN ? share_of(plan, 0, SPLIT_TRAIN, 0, cursor->place[0].window) : 1;
	uint64_t epochs = plan_settings_of(plan)->epochs;
	bool first = held > 0 && stand.window == 0; /* read ahead during the segment before it */

	if (cursor->split == split && is_ahead(&cursor->place[stand.lane], source, stand.window, held))
		return 0;
	if (cursor->split == SPLIT_TEST)
		return INFINITY;
	if (split == SPLIT_TEST)
		return first ? INFINITY : (double)(epochs - cursor->segment) - now;
	if (cursor->split == SPLIT_TRAIN && !first)
		return 1 - now;
	return cursor->segment + 1 < epochs ? 2 - now : INFINITY;
}

double next_use(const struct plan *plan, const struct cursor *cursor, uint32_t source, enum split split,
		uint64_t index, uint32_t held)
{
	if (cursor->ended)
		return INFINITY;
	return split == SPLIT_TRAIN ? train_use(plan, cursor, source, index, held)
				    : evaluation_use(plan, cursor, source, split, index, held);
}
