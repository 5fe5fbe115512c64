/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks exchange in which stage, and that the sums of two stages are those of one. */
#include "drivers/ranks/groups.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define WORLD_MAX 24u

/* Divides a world whose rank r is on box r / each. */
static void divide(struct rank_groups *groups, uint32_t world, uint32_t each, uint32_t rank,
		   const uint32_t *lanes)
{
	struct ranks_where where[WORLD_MAX] = { { .box = 0 } };
	struct error err;

	for (uint32_t i = 0; i < world; i++)
		where[i].box = i / each;
	assert_int_equal(rank_groups_open(groups, lanes, world, &err), 0);
	rank_groups_enter(groups, rank);
	assert_int_equal(rank_groups_divide(groups, lanes, where, (world + each - 1) / each, &err), 0);
}

/* Adds the values of a group's members. */
static float sum(const struct rank_group *group, float values[WORLD_MAX])
{
	float *in[WORLD_MAX], out = 0;

	for (uint32_t m = 0; m < group->members; m++)
		in[m] = &values[m];
	sum_tree(in, group->steps, group->members, &out, 1);
	return out;
}

/* Adds in two stages, as the ranks of all boxes would, what each rank brings. */
static float sum_in_stages(uint32_t boxes, uint32_t each, const uint32_t *lanes, const float *brought)
{
	float of_box[WORLD_MAX], values[WORLD_MAX], total = 0;

	for (uint32_t b = 0; b < boxes; b++) {
		struct rank_groups groups = { .is_divided = false };

		divide(&groups, boxes * each, each, b * each, lanes);
		assert_true(groups.is_divided);
		for (uint32_t m = 0; m < each; m++)
			values[m] = brought[rank_group_rank(&groups.box, m)];
		of_box[b] = sum(&groups.box, values);
		if (b + 1 == boxes)
			total = sum(&groups.across, of_box);
		rank_groups_done(&groups);
	}
	return total;
}

static void two_stages_add_as_one(void **state)
{
	static const struct {
		uint32_t boxes, each, lanes[WORLD_MAX]; /* lanes[0] = 0: one of each rank */
	} rows[] = { { 2, 2, { 0 } },
		     { 3, 2, { 0 } },
		     { 5, 4, { 0 } },
		     { 2, 3, { 2, 1, 1, 2, 1, 1 } },
		     { 3, 8, { 0 } } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint32_t world = rows[i].boxes * rows[i].each;
		const uint32_t *lanes = rows[i].lanes[0] ? rows[i].lanes : NULL;
		struct rank_groups groups = { .is_divided = false };
		float brought[WORLD_MAX], values[WORLD_MAX];

		for (uint32_t r = 0; r < world; r++)
			brought[r] = 1.0f / (float)(3 + 7 * r) - 0.1f;
		memcpy(values, brought, sizeof(values));
		divide(&groups, world, world, 0, lanes);
		assert_false(groups.is_divided); /* a single box */
		assert_true(sum(&groups.all, values) ==
			    sum_in_stages(rows[i].boxes, rows[i].each, lanes, brought));
		rank_groups_done(&groups);
	}
}

/* What the ranks of a box add is what the ranks of their places own, and each chunk is owned once. */
static void chunks_have_owners(void **state)
{
	const uint32_t boxes = 3, each = 4, world = boxes * each;

	(void)state;
	for (uint32_t rank = 0; rank < world; rank++) {
		struct rank_groups groups = { .is_divided = false };
		bool seen[WORLD_MAX] = { false };

		divide(&groups, world, each, rank, NULL);
		assert_int_equal(rank_group_rank(&groups.box, groups.box.me), rank);
		assert_int_equal(rank_group_rank(&groups.across, groups.across.me), rank);
		assert_int_equal(rank_group_owner(&groups.across, groups.across.me, 0), rank);
		assert_int_equal(groups.box.parts, boxes);
		for (uint32_t m = 0; m < each; m++)
			for (uint32_t p = 0; p < boxes; p++) {
				const uint32_t owner = rank_group_owner(&groups.box, m, p);

				assert_true(owner < world && !seen[owner]);
				assert_int_equal(owner % each, m);
				seen[owner] = true;
			}
		for (uint32_t m = 0; m < boxes; m++)
			assert_int_equal(rank_group_owner(&groups.across, m, 0),
					 rank_group_owner(&groups.box, groups.box.me, m));
		rank_groups_done(&groups);
	}
}

static void others_stay_one_group(void **state)
{
	static const uint32_t over_the_edge[] = { 2, 1, 1, 4, 2, 2 }; /* boxes of 3 end within a node */
	static const struct {
		uint32_t world, each;
		const uint32_t *lanes;
	} rows[] = { { 5, 2, NULL }, { 4, 1, NULL }, { 6, 3, NULL }, { 6, 3, over_the_edge } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rank_groups groups = { .is_divided = false };

		divide(&groups, rows[i].world, rows[i].each, 1, rows[i].lanes);
		assert_false(groups.is_divided);
		rank_groups_done(&groups);
	}
}

static void lanes_of_two_nodes_are_refused(void **state)
{
	static const uint32_t lanes[] = { 1, 2, 1 };
	struct rank_groups groups = { .is_divided = false };
	struct error err;

	(void)state;
	assert_int_equal(rank_groups_open(&groups, lanes, 3, &err), -EINVAL);
	assert_string_equal(err.text, "the lanes of a rank are no node of the tree of lanes");
	rank_groups_done(&groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_stages_add_as_one),
		cmocka_unit_test(chunks_have_owners),
		cmocka_unit_test(others_stay_one_group),
		cmocka_unit_test(lanes_of_two_nodes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
