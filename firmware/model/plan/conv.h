/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y [rows, out, filters] = convolution of x [rows, in, channels] with kernel [size, channels, filters] (NHWC,
 * HWIO), and both gradients. The one place that chooses their kernels: by device type and shape alone.
 *
 * All three are matrix products without the matrix: y and dx gather the rows of A while they multiply (dx: dy
 * through the mirrored window, with the flipped kernel), so that what follows fuses as into a GEMM. dkernel
 * and dbias are sums over places of CONV_CHUNKS_MAX chunks of whole images at most, by the batch's size, then
 * over the chunks: the order does not depend on the device. See kernels/conv.cl and conv_tiled.cl.
 */
#pragma once

#include "model/plan/window.h"

#define CONV_CHUNKS_MAX 32u
/* Numbers that all chunks hold together: 64 MiB. */
#define CONV_PARTS_MAX (1u << 24)

struct conv {
	const struct node *node;
	struct window window;
	uint64_t channels, filters;
};

/* y = x * kernel. One launch that gemm_is() is true of. */
void conv_emit(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t kernel, uint32_t y);
/* dx (+)= dy * flipped kernel. */
void conv_emit_input_gradient(struct plan *plan, const struct conv *conv, uint32_t dy, uint32_t kernel,
			      uint32_t dx, bool add);
/* dbias: GRAPH_NO_TENSOR where there is none. */
void conv_emit_kernel_gradient(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy,
			       uint32_t dkernel, uint32_t dbias);

/* Each channel by itself: filters = channels * multiplier, kernel [size, channels, multiplier]. */
void conv_emit_depthwise(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t kernel, uint32_t y);
void conv_emit_depthwise_input_gradient(struct plan *plan, const struct conv *conv, uint32_t dy,
					uint32_t kernel, uint32_t dx, bool add);
void conv_emit_depthwise_kernel_gradient(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy,
					 uint32_t dkernel, uint32_t dbias);
