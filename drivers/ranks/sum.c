/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/sum.h"

#define WIDE 4u /* floats: what one instruction of every x86-64 and ARMv8 processor adds */

typedef float wide __attribute__((vector_size(WIDE * sizeof(float)), aligned(sizeof(float)), may_alias));

static void add(float *out, const float *a, const float *b, size_t count)
{
	size_t i = 0;

#pragma GCC unroll 4
	for (; i + WIDE <= count; i += WIDE)
		*(wide *)&out[i] = *(const wide *)&a[i] + *(const wide *)&b[i];
	for (; i < count; i++)
		out[i] = a[i] + b[i];
}

/* A walk over the tree from the left: the ranks that it has not reached yet, and the additions so far. */
struct walk {
	const uint32_t *lanes;
	uint32_t world, rank, used; /* the next rank, and the additions so far */
	struct sum_step *steps;
};

static uint32_t lanes_of(const struct walk *walk, uint32_t rank)
{
	return walk->lanes ? walk->lanes[rank] : 1;
}

/* Walks the node of the next `size` leaves, which begin with the next rank's, and adds its parts. Returns
 * false where a rank has leaves of this node and of another one. */
static bool walk_node(struct walk *walk, uint32_t size)
{
	const uint32_t first = walk->rank, lanes = first < walk->world ? lanes_of(walk, first) : 0;
	uint32_t left = 1, right;

	if (lanes == 0 || lanes > size)
		return false;
	if (lanes == size) {
		walk->rank++;
		return true;
	}
	while (2 * left < size)
		left *= 2;
	if (!walk_node(walk, left))
		return false;
	right = walk->rank;
	if (!walk_node(walk, size - left))
		return false;
	walk->steps[walk->used++] = (struct sum_step){ first, right };
	return true;
}

bool sum_steps(const uint32_t *lanes, uint32_t world, struct sum_step *ret_steps)
{
	struct walk walk = { .lanes = lanes, .world = world, .steps = ret_steps };
	uint64_t size = 0;

	for (uint32_t rank = 0; rank < world; rank++)
		size += lanes_of(&walk, rank);
	return size <= UINT32_MAX / 2 && walk_node(&walk, (uint32_t)size);
}

static void sum_block(float *const *in, const struct sum_step *steps, uint32_t world, float *out,
		      size_t first, size_t count)
{
	for (uint32_t i = 0; i + 1 < world; i++) {
		float *left = in[steps[i].left];

		add((i + 2 < world ? left : out) + first, left + first, in[steps[i].right] + first, count);
	}
}

void sum_tree(float *const *in, const struct sum_step *steps, uint32_t world, float *out, size_t count)
{
	for (size_t first = 0; first < count; first += SUM_BLOCK)
		sum_block(in, steps, world, out, first,
			  count - first < SUM_BLOCK ? count - first : SUM_BLOCK);
}
