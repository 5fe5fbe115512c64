/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C [M, N] = A [M, K] x B [K, N], row-major, either operand stored transposed, and what follows it in one
 * launch (see kernels/gemm.cl). The one place that chooses a kernel: by device type and shape alone, so that
 * the order of every sum is fixed by both.
 *
 * CPU devices: tiles of float16 vectors in named accumulators, one work-item a group. Two families: small
 * products read their operands in place; where an operand is above 1 MiB (1 1/2 to 2 times as fast there),
 * and where B is transposed, groups pack B's columns into private memory (kernels/gemm_packed.cl), and a
 * transposed A goes through a launch of its own into scratch. Other devices: 16 x 16 tiles in local memory.
 */
#pragma once

#include "model/plan/plan.h"

/* As M or K: the batch's rows. */
#define GEMM_ROWS 0u

struct gemm {
	uint32_t a, b, c;        /* tensors */
	uint64_t m, n, k;        /* constants, or GEMM_ROWS for m or k */
	uint64_t per_row;        /* GEMM_ROWS means so many for each row; 0: one */
	bool a_transposed;       /* A is stored as [K, M] */
	bool b_transposed;       /* B is stored as [N, K]; not both */
	bool add;                /* C += */
	const struct node *node; /* of A, where it is transposed: whose scratch a copy of it is */
};

void gemm_emit(struct plan *plan, const struct gemm *gemm);

/* Tiles of C and the kernels that make them; those of convolutions are conv.h's. `pair`: see gemm_pair(). */
struct gemm_tile {
	const char *gemm, *packed, *pair, *conv, *conv_kernel;
	uint64_t rows, columns;
};
/* The tile for so many columns. */
const struct gemm_tile *gemm_tile(bool cpu, uint64_t n);
/* What gemm_emit() appends, for a launch with the same first arguments; `kernel` is its kernel. */
struct launch gemm_launch(const struct plan *plan, const struct gemm *gemm, const char *kernel);

/* Arguments of every GEMM kernel; fusion fills in the later ones. */
enum gemm_argument {
	GEMM_A,
	GEMM_B,
	GEMM_C,
	GEMM_M,
	GEMM_N,
	GEMM_K,
	GEMM_STRIDE_ROW, /* elements from A's row i to i + 1 */
	GEMM_STRIDE_K,   /* and from its column k to k + 1 */
	GEMM_B_TRANSPOSED,
	GEMM_GROUP_ROWS, /* of C, that a group of the packed family makes */
	GEMM_EPILOGUE,   /* flags below */
	GEMM_BIAS,
	GEMM_MASK,
	GEMM_BIAS_GRADIENT, /* column sums of B: one more tile row */
	GEMM_SCALE,
	GEMM_THRESHOLD,
	GEMM_LAYER,
	GEMM_STEP,
	GEMM_FIRST_ROW,
	GEMM_KEY_LOW,
	GEMM_KEY_HIGH,
	GEMM_ARGUMENTS,
};

/* Applied in this order. The kernels have the same numbers. */
enum gemm_epilogue {
	EPILOGUE_BIAS = 1u << 0,    /* x += bias[j] */
	EPILOGUE_RELU = 1u << 1,    /* x = x < 0 ? 0 : x */
	EPILOGUE_DROPOUT = 1u << 2, /* x = kept ? x * scale : 0 */
	EPILOGUE_MASK = 1u << 3,    /* x = mask[i][j] > 0 ? x * scale : 0 */
	EPILOGUE_ADD = 1u << 4,     /* x += C[i][j] */
	EPILOGUE_WIDE = 1u << 5,    /* C is float32, whatever activations are stored as */
};

/* True for what gemm_launch() made: epilogues can move in. */
bool gemm_is(const struct launch *launch);

/* Both gradients of a dense layer: true for dw = x^T dy, in place and one tile wide, and dx = dy w^T of the
 * same dy, packed. Neither reads what the other writes. */
bool gemm_is_pair(const struct launch *dw, const struct launch *dx);
/* One launch of both. */
struct launch gemm_pair(const struct launch *dw, const struct launch *dx);
