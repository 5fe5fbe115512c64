/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the values of all ranks in a binary tree; the order is that of ranks.h. No state; any thread may call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Floats that are added at a time: those of 8 ranks are in a first-level cache of 32 KiB. */
#define SUM_BLOCK 1024u

/* One addition of the tree: the sum that is at rank `left` becomes the sum of it and that at rank `right`. */
struct sum_step {
	uint32_t left, right;
};

/* Writes the world - 1 additions in their order. `lanes` [world]: the leaves of each rank; NULL = one.
 * Returns false where a rank's leaves are no node of the tree. */
bool sum_steps(const uint32_t *lanes, uint32_t world, struct sum_step *ret_steps);

/* Adds in[0] .. in[world - 1], each of `count` floats, into `out`, which may be one of them. Overwrites them
 * with partial sums. A world of 1 changes nothing. */
void sum_tree(float *const *in, const struct sum_step *steps, uint32_t world, float *out, size_t count);
