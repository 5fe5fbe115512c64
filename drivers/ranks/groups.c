/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static int no_memory(uint32_t world, struct error *err)
{
	return error_set(err, -ENOMEM, "ranks: no memory for the groups of %" PRIu32 " ranks", world);
}

int rank_groups_open(struct rank_groups *groups, const uint32_t *lanes, uint32_t world, struct error *err)
{
	groups->all = (struct rank_group){ .members = world, .stride = 1, .parts = 1, .narrows = true };
	groups->all.steps = calloc(world, sizeof(*groups->all.steps));
	if (!groups->all.steps)
		return no_memory(world, err);
	if (!sum_steps(lanes, world, groups->all.steps))
		return error_set(err, -EINVAL, "the lanes of a rank are no node of the tree of lanes");
	return 0;
}

void rank_groups_enter(struct rank_groups *groups, uint32_t rank)
{
	groups->all.me = rank;
}

/* Tells whether rank r is on box r / each. */
static bool are_in_order(const struct ranks_where *where, uint32_t world, uint32_t each)
{
	for (uint32_t i = 0; i < world; i++)
		if (where[i].box != i / each)
			return false;
	return true;
}

/* Writes the lanes of each box. */
static void add_lanes(const uint32_t *lanes, uint32_t each, uint32_t boxes, uint32_t *ret_lanes)
{
	for (uint32_t b = 0; b < boxes; b++) {
		ret_lanes[b] = 0;
		for (uint32_t i = b * each; i < (b + 1) * each; i++)
			ret_lanes[b] += lanes ? lanes[i] : 1;
	}
}

/* Writes the orders of sums; the own box's is written last. Returns false where a box is no node of the tree.
 */
static bool find_steps(struct rank_groups *groups, const uint32_t *lanes, const uint32_t *box_lanes)
{
	const uint32_t each = groups->box.members, boxes = groups->across.members;

	for (uint32_t i = 1; i <= boxes; i++) {
		const uint32_t b = (groups->across.me + i) % boxes;

		if (!sum_steps(lanes ? lanes + (size_t)b * each : NULL, each, groups->box.steps))
			return false;
	}
	return sum_steps(box_lanes, boxes, groups->across.steps);
}

int rank_groups_divide(struct rank_groups *groups, const uint32_t *lanes, const struct ranks_where *where,
		       uint32_t boxes, struct error *err)
{
	const uint32_t world = groups->all.members, each = world / boxes, box = groups->all.me / each,
		       place = groups->all.me % each;
	CLEANUP(free_ptr) uint32_t *box_lanes = NULL;

	if (boxes == 1 || each == 1 || world % boxes != 0 || !are_in_order(where, world, each))
		return 0;
	box_lanes = calloc(boxes, sizeof(*box_lanes));
	groups->box = (struct rank_group){ .members = each,
					   .me = place,
					   .first = box * each,
					   .stride = 1,
					   .parts = boxes,
					   .part_stride = each,
					   .steps = calloc(each, sizeof(struct sum_step)) };
	groups->across = (struct rank_group){ .members = boxes,
					      .me = box,
					      .first = place,
					      .stride = each,
					      .parts = 1,
					      .chunk_first = place,
					      .narrows = true,
					      .steps = calloc(boxes, sizeof(struct sum_step)) };
	if (!box_lanes || !groups->box.steps || !groups->across.steps)
		return no_memory(world, err);
	add_lanes(lanes, each, boxes, box_lanes);
	groups->is_divided = find_steps(groups, lanes, box_lanes);
	return 0;
}

void rank_groups_done(struct rank_groups *groups)
{
	free(groups->all.steps);
	free(groups->box.steps);
	free(groups->across.steps);
}
