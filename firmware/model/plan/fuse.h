/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fusion: launches of small kernels move into the GEMM before them, or into one another.
 * The kernels that move, by their parameters: who emits one names its arguments by these.
 */
#pragma once

#include "model/plan/plan.h"

enum relu_argument { RELU_X, RELU_Y, RELU_ROWS, RELU_COLUMNS };

enum relu_backward_argument {
	RELU_BACKWARD_DY,
	RELU_BACKWARD_Y,
	RELU_BACKWARD_DX,
	RELU_BACKWARD_SCALE,
	RELU_BACKWARD_ADD, /* dx += */
	RELU_BACKWARD_ROWS,
	RELU_BACKWARD_COLUMNS,
};

/* Forward, and the same of the gradients. */
enum dropout_argument {
	DROPOUT_X,
	DROPOUT_Y,
	DROPOUT_ADD, /* y += */
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

/* Fuses the launches of a plan, in one pass a rule. */
void plan_fuse(struct plan *plan);
