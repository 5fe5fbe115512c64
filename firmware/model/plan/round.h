/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes in whole pieces: tiles, groups, chunks. */
#pragma once

#include <stdint.h>

/* Returns how many pieces of size `by` cover n. */
static inline uint64_t divide_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

/* Returns the least multiple of `by` that is at least n. */
static inline uint64_t round_up(uint64_t n, uint64_t by)
{
	return divide_up(n, by) * by;
}
