/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: C [M, N] = A [M, K] x B [K, N], row-major, where one operand may be stored transposed; and
 * the epilogue that follows the product in the same launch (fuse.h). gemm.c alone chooses the kernel, by the
 * type of the device, plan.tensor_cores and the shape, so these determine the order of every sum
 * (kernels/gemm.cl).
 *
 * CPU devices: tiles of float16 vectors, each in a variable of its own; one work-item per group. There are
 * two families of kernels. Small products read their operands in place. If an operand is above 1 MiB, or B is
 * transposed, a group packs B's columns into private memory (kernels/gemm_packed.cl; there 1.5 to 2 times as
 * fast), and a transposed A is copied by a launch of its own. Other devices: tiles in local memory, from 16 x
 * 16 to 128 x 128. Where the tiles are too few for all units of a GPU, the sums are cut into chunks, and one
 * more launch adds these (tiles.h). The size of a tile alone does not change the bits of a sum, but the
 * number of chunks does, and the two are chosen together. With plan.tensor_cores, products whose rows in
 * memory have multiples of 8 numbers of 16 bits, or of 4 of float32, are computed by tensor cores
 * (kernels/gemm_mma.cl), those of 16 bits on Hopper GPUs by warp groups. From float32 the numbers are
 * rounded to TF32.
 */
#pragma once

#include "model/plan/plan.h"
#include "model/plan/tiles.h"

/* As m or k: the number of rows of the batch. */
#define GEMM_ROWS 0u

struct gemm {
	uint32_t a, b, c;        /* indices of tensors */
	uint64_t m, n, k;        /* sizes; m or k may be GEMM_ROWS */
	uint64_t per_row;        /* GEMM_ROWS is multiplied by this; 0 counts as 1 */
	bool a_transposed;       /* A is stored as [K, M] */
	bool b_transposed;       /* B is stored as [N, K]; only one of A and B may be transposed */
	bool add;                /* C += instead of C = */
	const struct node *node; /* the node that owns the scratch: a copy of a transposed A, chunks */
};

void gemm_emit(struct plan *plan, const struct gemm *gemm);
/* Appends the first launch of a product whose sums are so long that they are cut into up to `most` chunks,
 * for devices that are not CPUs: it computes the chunks, float32 [chunks, m, n], in a tensor that
 * *ret_partials is set to; gemm->c is not used. The caller appends a launch that adds the chunks. Returns
 * their number. */
uint64_t gemm_emit_chunks(struct plan *plan, const struct gemm *gemm, uint64_t most, uint32_t *ret_partials);

/* A size of tiles of C on CPU devices, and the names of the kernels that compute such tiles: `conv`,
 * `winograd` and `conv_kernel` are for conv.h. NULL: there is no such kernel. */
struct gemm_tile {
	const char *gemm, *packed, *conv, *winograd, *conv_kernel;
	uint64_t rows, columns;
};
/* Returns the best size of tile on CPU devices for a C with n columns. */
const struct gemm_tile *gemm_cpu_tile(uint64_t n);
/* Returns a launch of the best convolution of this size, for CPU devices. It packs B. */
struct launch gemm_conv_launch(const struct plan *plan, const struct gemm *gemm);
/* Appends a convolution with so many taps, for other devices; `window` is the tensor of kernels/window.cl.
 * `kernel` is TILE_CONV or TILE_WGMMA_CONV. */
void gemm_emit_conv(struct plan *plan, const struct gemm *gemm, enum tile_kernel kernel, uint64_t taps,
		    uint32_t window);
/* Returns a launch of gemm_cpu_tile()->winograd, for CPU devices: a row of the batch has `quads` quads
 * (kernels/conv_winograd.cl). */
struct launch gemm_winograd_launch(const struct plan *plan, const struct gemm *gemm, uint64_t quads);

/* Indices of the parameters of every GEMM kernel. Fusion sets the arguments from GEMM_EPILOGUE on. */
enum gemm_argument {
	GEMM_A,
	GEMM_B,
	GEMM_C,
	GEMM_M,
	GEMM_N,
	GEMM_K,
	GEMM_STRIDE_ROW, /* distance of row i + 1 of A from row i, in elements */
	GEMM_STRIDE_K,   /* distance of column k + 1 of A from column k, in elements */
	GEMM_B_TRANSPOSED,
	GEMM_GROUP_ROWS, /* rows of C that a group of a packed kernel computes; in gemm_tiled.cl and
			    conv_tiled.cl terms of a chunk, in gemm_sum chunks */
	GEMM_EPILOGUE,   /* flags: enum gemm_epilogue */
	GEMM_BIAS,
	GEMM_MASK,
	GEMM_BIAS_GRADIENT, /* column sums of B, computed by one more row of groups */
	GEMM_SCALE,
	GEMM_THRESHOLD,
	GEMM_LAYER,
	GEMM_STEP,
	GEMM_FIRST_ROW,
	GEMM_KEY_LOW,
	GEMM_KEY_HIGH,
	GEMM_ARGUMENTS,
};

/* Steps of the epilogue for each x of C, in this order. kernels/tile.cl has the same numbers. */
enum gemm_epilogue {
	EPILOGUE_BIAS = 1u << 0,    /* x += bias[j] */
	EPILOGUE_RELU = 1u << 1,    /* x = x < 0 ? 0 : x */
	EPILOGUE_DROPOUT = 1u << 2, /* x = dropped ? 0 : x * scale */
	EPILOGUE_MASK = 1u << 3,    /* x = mask[i][j] > 0 ? x * scale : 0 */
	EPILOGUE_ADD = 1u << 4,     /* x += C[i][j] */
	EPILOGUE_WIDE = 1u << 5,    /* C is float32, even if activations are not */
};

/* Returns whether a function of this header made this launch, so that fusion can add epilogues to it. */
bool gemm_is(const struct launch *launch);

/* Returns whether the two launches are the two gradients of a dense layer: dw = x^T dy, computed with one
 * tile for all columns, and dx = dy w^T with the same dy; whether there is a kernel that computes both by the
 * tiles of the two; and whether neither launch reads what the other writes. */
bool gemm_is_pair(const struct launch *dw, const struct launch *dx);
/* Returns one launch that computes both gradients. */
struct launch gemm_pair(const struct launch *dw, const struct launch *dx);

/* Returns whether the two launches, one directly after the other, are the products of two dense layers for a
 * device that is not a CPU, y = x w and next_y = y next_w; whether one tile has all columns of each, and
 * whether one kernel has their epilogues: of the second only EPILOGUE_BIAS and EPILOGUE_RELU. */
bool gemm_is_sequence(const struct launch *first, const struct launch *second);
/* Returns one launch that computes both products. */
struct launch gemm_sequence(const struct launch *first, const struct launch *second);
