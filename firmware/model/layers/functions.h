/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of each element whose derivative follows from input or output: the names of their kernels,
 * and their values in float64. relu (relu.c) is not here, because its kernels fuse with others. */
#pragma once

#include "model/graph/op.h"

/* Attribute 0 of a function, if it has one. For gelu it is a boolean: the formula with tanh. */
enum { FUNCTION_NUMBER };

#define GELU_CUBE  0.044715
#define SELU_SCALE 1.0507009873554805
#define SELU_ALPHA 1.6732632423543772

struct function {
	const char *op, *forward, *backward; /* name of the op; names of its two kernels */
	bool by_output;                      /* true: the backward kernel reads y; false: x */
	double (*value)(double x, double number), (*slope)(double x, double number);
};

/* Returns the function of a node, whose op is one of the rows of activation.c. */
const struct function *function_of(const struct node *node);
