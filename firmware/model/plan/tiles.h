/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of the products and convolutions of devices that are not CPUs: the one list of their sizes, and the
 * choice of a size, and of how many chunks a sum is cut into so that all units of a GPU have work. The choice
 * depends only on the shape and on the kind of kernel (enum tile_kernel), so these determine the order of
 * every sum: a chunk's terms in order, then the chunks in order. kernels/tiles.clh, mma_tiles.clh and
 * wgmma_tiles.clh have the same sizes; kernels/gemm_tiled.cl, gemm_mma.cl, conv_tiled.cl and conv_mma.cl have
 * their kernels.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* each(size, rows, columns, items, lone, shared): the sizes of a tile; the work-items of a group; the cycles that a
 * unit takes for one term of all sums of a tile, if it has one group, and for each group if it has several. From times
 * on an NVIDIA H200, in cycles of 1980 MHz. */
#define TILE_SIZES(each) \
	each(128x128, 128, 128, 256, 205, 205) \
	each(128x64,  128,  64, 256, 130, 115) \
	each(64x64,    64,  64, 128,  85,  60) \
	each(64x32,    64,  32,  64,  75,  36)
/* The sizes of kernels/mma_tiles.clh, for tensor cores, and for those that work on warp groups. */
#define MMA_SIZES(each) \
	each(128x128, 128, 128, 256, 32, 32) \
	each(64x64,    64,  64, 128, 16, 10)
#define WGMMA_SIZES(each) \
	each(128x128, 128, 128, 256, 18, 13) \
	each(128x64,  128,  64, 256, 16, 10)
/* clang-format on */

enum tile_kernel {
	TILE_NN, /* a product; the letters say which of A and B is stored transposed */
	TILE_TN,
	TILE_NT,
	TILE_MMA_NN, /* the same by tensor cores */
	TILE_MMA_TN,
	TILE_MMA_NT,
	TILE_WGMMA_NN, /* the same, also by tensor cores that work on warp groups */
	TILE_WGMMA_TN,
	TILE_WGMMA_NT,
	TILE_CONV,
	TILE_CONV_KERNEL,
	TILE_WGMMA_CONV,
	TILE_WGMMA_CONV_KERNEL,
	TILE_KERNELS,
};

struct tile {
	const char *kernel[TILE_KERNELS]; /* the name; NULL: there is no such kernel */
	uint64_t rows, columns;
	uint64_t lone, shared;
};

/* Upper bound of how many numbers the sums of all chunks have together: 64 MiB. */
#define TILE_PARTIALS_MAX (1u << 24)

/* Unit of the length of a chunk, in terms: a multiple of what each kernel keeps in local memory at once. */
#define TILE_LENGTH_UNIT 64u

/* How a launch computes a product [m, n]: the size of its tiles, and its sums of k terms in `count` chunks of
 * `length` terms, a multiple of TILE_LENGTH_UNIT. With one chunk, `length` is at least k. */
struct tile_use {
	const struct tile *tile;
	uint64_t count, length;
};

/* Returns the fastest use for a product [m, n] with sums of k terms, in at most `most` chunks. `kernel`
 * limits the tiles to those that have this kernel. `always_sums`: a launch that adds the chunks follows, even
 * if there is only one. */
struct tile_use tiles_choose(uint64_t m, uint64_t n, uint64_t k, enum tile_kernel kernel, uint64_t most,
			     bool always_sums);
/* Returns whether this is a kernel of tiles for products or convolutions, but not for the gradients of
 * kernels. */
bool tiles_have(const char *kernel);
