/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: C [M, N] = A [M, K] x B [K, N], row-major, either operand stored transposed, and what
 * follows the product in the same launch (fuse.h). gemm.c alone chooses the kernel, by the type of the device
 * and the shape, so both fix the order of every sum (kernels/gemm.cl).
 *
 * CPU devices: tiles of float16 vectors in named accumulators, one work-item a group. Two families of
 * kernels: small products read their operands in place. Where an operand is above 1 MiB, or B is transposed,
 * a group packs B's columns into private memory (kernels/gemm_packed.cl; 1 1/2 to 2 times as fast there), and
 * a transposed A is copied by a launch of its own. Other devices: tiles of 16 x 16 in local memory.
 */
#pragma once

#include "model/plan/plan.h"

/* For m or k: the batch's rows. */
#define GEMM_ROWS 0u

struct gemm {
	uint32_t a, b, c;        /* tensors */
	uint64_t m, n, k;        /* constants, or GEMM_ROWS for m or k */
	uint64_t per_row;        /* GEMM_ROWS is multiplied by this; 0 counts as 1 */
	bool a_transposed;       /* A is stored as [K, M] */
	bool b_transposed;       /* B is stored as [N, K]; not both */
	bool add;                /* C += */
	const struct node *node; /* the node whose scratch a copy of a transposed A is */
};

void gemm_emit(struct plan *plan, const struct gemm *gemm);

/* Sizes of tiles of C, and the kernels that make them: `conv` and `conv_kernel` are for conv.h, `pair` for
 * gemm_pair(). */
struct gemm_tile {
	const char *gemm, *packed, *pair, *conv, *conv_kernel;
	uint64_t rows, columns;
};
/* Returns the tile for n columns. */
const struct gemm_tile *gemm_tile(bool cpu, uint64_t n);
/* Returns the launch that gemm_emit() appends, with another kernel that has the same first parameters. */
struct launch gemm_launch(const struct plan *plan, const struct gemm *gemm, const char *kernel);

/* Parameters of every GEMM kernel. Fusion sets those from GEMM_EPILOGUE on. */
enum gemm_argument {
	GEMM_A,
	GEMM_B,
	GEMM_C,
	GEMM_M,
	GEMM_N,
	GEMM_K,
	GEMM_STRIDE_ROW, /* elements from A's row i to i + 1 */
	GEMM_STRIDE_K,   /* elements from A's column k to k + 1 */
	GEMM_B_TRANSPOSED,
	GEMM_GROUP_ROWS, /* rows of C that a group of the packed family makes */
	GEMM_EPILOGUE,   /* flags: enum gemm_epilogue */
	GEMM_BIAS,
	GEMM_MASK,
	GEMM_BIAS_GRADIENT, /* column sums of B, made by one more row of groups */
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
	EPILOGUE_DROPOUT = 1u << 2, /* x = kept ? x * scale : 0 */
	EPILOGUE_MASK = 1u << 3,    /* x = mask[i][j] > 0 ? x * scale : 0 */
	EPILOGUE_ADD = 1u << 4,     /* x += C[i][j] */
	EPILOGUE_WIDE = 1u << 5,    /* C is float32, whatever activations are stored as */
};

/* Returns whether gemm_launch() made a launch: epilogues can move into it. */
bool gemm_is(const struct launch *launch);

/* Returns whether two launches are both gradients of a dense layer: dw = x^T dy, in place and one tile wide,
 * and dx = dy w^T of the same dy, packed. Neither reads what the other writes. */
bool gemm_is_pair(const struct launch *dw, const struct launch *dx);
/* Returns one launch that does both. */
struct launch gemm_pair(const struct launch *dw, const struct launch *dx);
