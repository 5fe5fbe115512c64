/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/tiles.h"

#include "model/plan/round.h"

#include <stddef.h>
#include <string.h>

#define TILE(size, tile_rows, tile_columns, items, of_one, of_several) \
	{ .kernel = { [TILE_NN] = "gemm_nn_" #size,                    \
		      [TILE_TN] = "gemm_tn_" #size,                    \
		      [TILE_NT] = "gemm_nt_" #size,                    \
		      [TILE_CONV] = "conv_" #size,                     \
		      [TILE_CONV_KERNEL] = "conv_kernel_" #size },     \
	  .rows = (tile_rows),                                         \
	  .columns = (tile_columns),                                   \
	  .lone = (of_one),                                            \
	  .shared = (of_several) },

#define MMA_TILE(size, tile_rows, tile_columns, items, of_one, of_several) \
	{ .kernel = { [TILE_MMA_NN] = "mma_nn_" #size,                     \
		      [TILE_MMA_TN] = "mma_tn_" #size,                     \
		      [TILE_MMA_NT] = "mma_nt_" #size,                     \
		      [TILE_WGMMA_NN] = "mma_nn_" #size,                   \
		      [TILE_WGMMA_TN] = "mma_tn_" #size,                   \
		      [TILE_WGMMA_NT] = "mma_nt_" #size },                 \
	  .rows = (tile_rows),                                             \
	  .columns = (tile_columns),                                       \
	  .lone = (of_one),                                                \
	  .shared = (of_several) },

#define WGMMA_TILE(size, tile_rows, tile_columns, items, of_one, of_several)   \
	{ .kernel = { [TILE_WGMMA_NN] = "wgmma_nn_" #size,                     \
		      [TILE_WGMMA_TN] = "wgmma_tn_" #size,                     \
		      [TILE_WGMMA_NT] = "wgmma_nt_" #size,                     \
		      [TILE_WGMMA_CONV] = "wgmma_conv_" #size,                 \
		      [TILE_WGMMA_CONV_KERNEL] = "wgmma_conv_kernel_" #size }, \
	  .rows = (tile_rows),                                                 \
	  .columns = (tile_columns),                                           \
	  .lone = (of_one),                                                    \
	  .shared = (of_several) },

/* A large tile reads less memory for each product; a small one gives every unit of a GPU a group to work on.
 * The last one is for small products, without chunks. */
static const struct tile tiles[] = {
	/* The macros join the names of kernels. NOLINTNEXTLINE(bugprone-suspicious-missing-comma) */
	TILE_SIZES(TILE) MMA_SIZES(MMA_TILE) WGMMA_SIZES(WGMMA_TILE) /**/
	{ .kernel = { "gemm_16x16", "gemm_16x16", "gemm_16x16" },
	  .rows = 16,
	  .columns = 16,
	  .lone = 12,
	  .shared = 12 },
};
#define TILES (sizeof(tiles) / sizeof(*tiles))

/* Units of the GPUs for which the uses are chosen: those of an NVIDIA H100 or H200. A constant, so the
 * number of units does not change the bits of a network. */
#define UNITS 132u
/* Cycles beside those of the terms: for the begin and end of a tile, and of each further one on the same
 * unit; for a launch that adds the chunks, and there for each chunk. NUMBERS_A_CYCLE: numbers of the chunks
 * that this launch adds in a cycle. */
#define BEGIN_CYCLES    4000u
#define NEXT_CYCLES     1500u
#define SUM_CYCLES      8000u
#define CHUNK_CYCLES    50u
#define NUMBERS_A_CYCLE 300u

/* Returns the cycles of all tiles. */
static uint64_t tile_cycles(const struct tile *tile, uint64_t m, uint64_t n, uint64_t chunks, uint64_t length)
{
	const uint64_t groups =
		divide_up(chunks * divide_up(m, tile->rows) * divide_up(n, tile->columns), UNITS);
	const uint64_t cycles = groups * tile->shared;

	return (cycles > tile->lone ? cycles : tile->lone) * length + BEGIN_CYCLES + groups * NEXT_CYCLES;
}

static uint64_t sum_cycles(uint64_t m, uint64_t n, uint64_t chunks)
{
	return SUM_CYCLES + chunks * CHUNK_CYCLES + chunks * m * n / NUMBERS_A_CYCLE;
}

/* Returns the most chunks that this size of tile may have. */
static uint64_t most_of(const struct tile *tile, uint64_t most)
{
	return tile != &tiles[TILES - 1] && most > 1 ? most : 1;
}

struct tile_use tiles_choose(uint64_t m, uint64_t n, uint64_t k, enum tile_kernel kernel, uint64_t most,
			     bool always_sums)
{
	struct tile_use best = { 0 };
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < TILES; i++)
		for (uint64_t chunks = 1; tiles[i].kernel[kernel] && chunks <= most_of(&tiles[i], most);
		     chunks++) {
			const uint64_t length = round_up(divide_up(k, chunks), TILE_LENGTH_UNIT);
			const uint64_t count = divide_up(k, length);
			const uint64_t cycles = tile_cycles(&tiles[i], m, n, count, length < k ? length : k) +
						(count > 1 || always_sums ? sum_cycles(m, n, count) : 0);

			if (cycles < least) {
				least = cycles;
				best = (struct tile_use){ &tiles[i], count, length };
			}
		}
	return best;
}

/* Returns which kernel of tiles has this name; TILE_KERNELS: none. */
static enum tile_kernel find(const char *kernel)
{
	for (size_t i = 0; i < TILES; i++)
		for (enum tile_kernel k = 0; k < TILE_KERNELS; k++)
			if (tiles[i].kernel[k] && !strcmp(kernel, tiles[i].kernel[k]))
				return k;
	return TILE_KERNELS;
}

bool tiles_have(const char *kernel)
{
	const enum tile_kernel found = find(kernel);

	return found != TILE_KERNELS && found != TILE_CONV_KERNEL && found != TILE_WGMMA_CONV_KERNEL;
}
