/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix product of a layer, y = x W + b: x [rows of the batch * steps, in], W [in, out]. Launches of the
 * forward pass, of the gradients of W and b, and of the gradient of x. dense is one such product; the layers
 * for sequences have several. Sums: those of model/plan/gemm.h. Crash, threads: none.
 */
#pragma once

#include "model/plan/plan.h"

struct projection {
	const struct node *node;
	uint32_t kernel, bias; /* indices of the layer's parameters; GRAPH_NO_TENSOR: no bias */
	const char *stored;    /* name of the copy of W in the type of activations */
	uint32_t x, y, dy;     /* tensors; each function reads only those of its formula */
	uint64_t steps, in, out;
};

/* y = x W + b */
void projection_forward(struct plan *plan, const struct projection *p);
/* dW = x^T dy, and db = the sums of dy directly after it, because fusion joins neighbours. Appends nothing if
 * W has no gradient. */
void projection_gradients(struct plan *plan, const struct projection *p);
/* dx (+)= dy W^T */
void projection_input_gradient(struct plan *plan, const struct projection *p, uint32_t dx, bool add);
