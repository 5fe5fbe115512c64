/* SPDX-License-Identifier: Apache-2.0 */
#include "data/lanes.h"

#include "data/order.h"

#include <inttypes.h>

static bool same_segment(const struct cursor *a, const struct cursor *b)
{
	return a->split == b->split && a->segment == b->segment && a->ended == b->ended;
}

/* Whether `next` stands at the start of the segment after `cursor`'s. */
static bool is_after(const struct plan *plan, const struct cursor *cursor, const struct cursor *next)
{
	enum split split = (enum split)cursor->split;
	uint64_t segment = cursor->segment;
	bool ended = !plan_next_segment(plan, &split, &segment);

	return !cursor->ended && next->batch == 0 && next->ended == ended &&
	       (ended || (next->split == split && next->segment == segment));
}

/* The cursor of a rank that has not reached the segment's end, where there is one. */
static const struct cursor *hindmost(const struct plan *plan, const struct cursor *cursor, uint32_t ranks)
{
	for (uint32_t r = 1; r < ranks; r++)
		if (is_after(plan, &cursor[r], &cursor[0]))
			return &cursor[r];
	return &cursor[0];
}

/* Whether the cursor says that it is this rank's. A single rank's cursor is the whole run's: 0 of 0. */
static bool is_rank(const struct cursor *cursor, uint32_t rank, uint32_t ranks)
{
	return cursor->rank == rank && cursor->world == (ranks > 1 ? ranks : 0);
}

static int check(const struct plan *plan, const struct cursor *cursor, uint32_t ranks,
		 const struct cursor *base, struct error *err)
{
	for (uint32_t r = 0; r < ranks; r++) {
		bool together = same_segment(&cursor[r], base) &&
				(cursor[r].batch == base->batch || base->split != SPLIT_TRAIN);

		if (!is_rank(&cursor[r], r, ranks))
			return error_set(err, -EINVAL, "cursor %u of %u is that of rank %u of %u", r, ranks,
					 cursor[r].rank, cursor[r].world);
		if (!together && !is_after(plan, base, &cursor[r]))
			return error_set(err, -EINVAL,
					 "rank %u stands at split %u, segment %" PRIu64 ", batch %" PRIu64
					 ", rank %td at split %u, segment %" PRIu64 ", batch %" PRIu64,
					 r, cursor[r].split, cursor[r].segment, cursor[r].batch,
					 base - cursor, base->split, base->segment, base->batch);
	}
	return 0;
}

/* Copies the places of a lane from its owner's cursor. The first source needs care: an evaluation begins
 * anew, and a rank that stands in the next segment has given all of its lanes' windows in this one. */
static void merge_lane(const struct plan *plan, const struct cursor *owner, uint32_t lane,
		       struct cursor *merged)
{
	const struct plan_settings *settings = plan_settings_of(plan);

	for (uint32_t source = 0; source < settings->sources; source++) {
		uint32_t place = source * settings->lanes + lane;

		merged->place[place] = owner->place[place];
		if (source == 0 && merged->split != SPLIT_TRAIN && !merged->ended)
			merged->place[place] = (struct cursor_place){ 0 };
		else if (source == 0 && !same_segment(owner, merged))
			merged->place[place] =
				(struct cursor_place){ .pass = merged->segment,
						       .window = plan_windows(plan, 0, lane, SPLIT_TRAIN) };
	}
}

int lanes_merge(const struct plan *plan, const struct cursor *from, const struct cursor *cursor,
		uint32_t ranks, struct cursor *ret_cursor, struct error *err)
{
	const struct cursor *base = hindmost(plan, cursor, ranks);
	struct cursor merged = *base;
	int r = check(plan, cursor, ranks, base, err);

	if (r < 0)
		return r;
	merged.skipped = from->skipped;
	merged.rank = merged.world = 0;
	for (uint32_t i = 0; i < ranks; i++) {
		merged.skipped += cursor[i].skipped - from->skipped;
		/* Ranks may differ at the last, smaller batch of the segment: the largest count is right. */
		if (same_segment(&cursor[i], &merged) && cursor[i].rows > merged.rows)
			merged.rows = cursor[i].rows;
	}
	if (merged.split != SPLIT_TRAIN && !merged.ended)
		merged.batch = merged.rows = 0;
	for (uint32_t lane = 0; lane < plan_settings_of(plan)->lanes; lane++)
		merge_lane(plan, &cursor[order_lane_rank(lane, plan_settings_of(plan)->lanes, ranks)], lane,
			   &merged);
	*ret_cursor = merged;
	return 0;
}
