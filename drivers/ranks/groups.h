/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks exchange with each other, and for whose chunks. Either all ranks are one group. Or, where
 * several boxes have several ranks each, a value moves in two stages: among the ranks of a box, and among the
 * ranks of the same place on all boxes. Then it leaves a box once, and not once for each of the box's ranks.
 */
#pragma once

#include "drivers/ranks/ranks.h"
#include "drivers/ranks/sum.h"

/* Member m is rank first + m * stride. Its part p is the chunk of rank chunk_first + m * stride + p *
 * part_stride. All members have as many parts. */
struct rank_group {
	uint32_t members, me; /* me: the member that this rank is */
	uint32_t first, stride;
	uint32_t parts, chunk_first, part_stride;
	bool narrows;           /* values travel as the type of the exchange says; false: as float32 */
	struct sum_step *steps; /* [members], of which members - 1 are used: the order of sums */
};

/*
 * The groups of a rank. Sums: the own box first. There rank l of a box adds the parts that ranks l of all
 * boxes own; then these ranks add the sums of their boxes, each its own part. The tree of lanes (ranks.h) has
 * each box as a node, so the sums are those of one group. Chunks are spread in the reverse order.
 */
struct rank_groups {
	struct rank_group all;
	struct rank_group box, across; /* used if is_divided */
	bool is_divided;
};

/* Allocates the order of sums of all ranks; `lanes` is that of struct ranks_wish. Errors: -EINVAL the lanes
 * of a rank are no node of the tree; -ENOMEM. After an error the caller calls rank_groups_done(), too. */
MUST_CHECK int rank_groups_open(struct rank_groups *groups, const uint32_t *lanes, uint32_t world,
				struct error *err);
/* Says which rank this is; before that only the order of sums is there. */
void rank_groups_enter(struct rank_groups *groups, uint32_t rank);
/* Divides all ranks by boxes, if each box has as many ranks as the others, more than one, which follow each
 * other, and if the lanes of each box are a node of the tree. Else nothing changes. `where` [world]. Errors:
 * -ENOMEM. */
MUST_CHECK int rank_groups_divide(struct rank_groups *groups, const uint32_t *lanes,
				  const struct ranks_where *where, uint32_t boxes, struct error *err);
void rank_groups_done(struct rank_groups *groups);

static inline uint32_t rank_group_rank(const struct rank_group *group, uint32_t member)
{
	return group->first + member * group->stride;
}

/* Returns the rank whose chunk part p of a member is. */
static inline uint32_t rank_group_owner(const struct rank_group *group, uint32_t member, uint32_t part)
{
	return group->chunk_first + member * group->stride + part * group->part_stride;
}
