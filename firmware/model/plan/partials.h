/* SPDX-License-Identifier: Apache-2.0 */
/* The partial sums of the gradients of a convolution's kernel and bias: one for each chunk, and then their
 * sum. Shared by conv.c and depthwise.c. */
#pragma once

#include "model/plan/plan.h"

/* Most chunks of images. */
#define PARTIALS_CHUNKS_MAX 32u

/* The partial sums, one for each chunk. A partial sum has the shape [taps, tap_rows, columns] with tap_rows
 * >= channels and columns >= filters; with `bias_row`, a row for dbias follows. */
struct partials {
	uint64_t taps, channels, filters, tap_rows, columns;
	bool bias_row;
	uint64_t chunks, length; /* length: images of a chunk; on devices that are not CPUs, positions of all
				    images, see conv.c */
	uint32_t tensor;
};

/* Sets the chunks of images for the size of the batch, and makes the tensor, with a row for dbias. */
void partials_make(struct plan *plan, const struct node *node, struct partials *partials);
/* Appends the launch that adds the chunks. `dbias` is GRAPH_NO_TENSOR if there is no bias. */
void partials_emit_sum(struct plan *plan, const struct partials *partials, uint32_t dkernel, uint32_t dbias);
