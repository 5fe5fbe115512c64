/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the values of all ranks in a binary tree; the order is that of ranks.h. No state; any thread may call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Adds in[0] .. in[world - 1], each of `count` floats, into `out`, which may be one of them. Overwrites them
 * with partial sums. A world of 1 changes nothing. */
void sum_tree(float *const *in, uint32_t world, float *out, size_t count);
