/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fusion: launches of small kernels move into the product before them, or into one another.
 *
 * Why: a small kernel (bias, relu, dropout) does little work on each number, but reads and writes a whole
 * tensor in memory. As the epilogue of the product that makes the tensor, it works on numbers that are still
 * in registers, and the tensor between product and kernel is neither written nor read. A launch also costs
 * some microseconds. The arithmetic and its order do not change, so with float32 activations the results have
 * the same bits; 16-bit activations are not rounded where a tensor between two launches falls away.
 *
 * The enums are the indices of the parameters of the kernels that fusion moves. Layers that launch one of
 * these kernels use the same enums.
 */
#pragma once

#include "model/plan/plan.h"

enum relu_argument { RELU_X, RELU_Y, RELU_ROWS, RELU_COLUMNS };

enum relu_backward_argument {
	RELU_BACKWARD_DY,
	RELU_BACKWARD_Y,
	RELU_BACKWARD_DX,
	RELU_BACKWARD_SCALE,
	RELU_BACKWARD_ADD, /* 1: dx += instead of dx = */
	RELU_BACKWARD_ROWS,
	RELU_BACKWARD_COLUMNS,
};

/* The kernel dropout: of a value in the forward pass, of a gradient in the backward pass. */
enum dropout_argument {
	DROPOUT_X,
	DROPOUT_Y,
	DROPOUT_ADD, /* 1: y += instead of y = */
	DROPOUT_ROWS,
	DROPOUT_COLUMNS,
	DROPOUT_SCALE,
	DROPOUT_THRESHOLD,
	DROPOUT_LAYER,
	DROPOUT_STEP,
	DROPOUT_FIRST_ROW,
	DROPOUT_KEY_LOW,
	DROPOUT_KEY_HIGH,
};

enum bias_add_argument { BIAS_ADD_Y, BIAS_ADD_BIAS, BIAS_ADD_ROWS, BIAS_ADD_COLUMNS };

enum column_sums_argument { COLUMN_SUMS_X, COLUMN_SUMS_SUMS, COLUMN_SUMS_ROWS, COLUMN_SUMS_COLUMNS };

enum max_pool_argument { MAX_POOL_X, MAX_POOL_Y, MAX_POOL_BEST };

enum max_pool_backward_argument {
	MAX_POOL_BACKWARD_DY,
	MAX_POOL_BACKWARD_BEST,
	MAX_POOL_BACKWARD_POOLED, /* null: no relu before the pool */
	MAX_POOL_BACKWARD_DX,
	MAX_POOL_BACKWARD_ADD, /* 1: dx += instead of dx = */
};

/* Fuses the launches of a plan; each rule walks over all launches once. */
void plan_fuse(struct plan *plan);
