/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions: y [rows, out, filters] = x [rows, in, channels] convolved with kernel [size, channels,
 * filters] (NHWC, HWIO), and both gradients. conv.c alone chooses their kernels, depthwise.c those of
 * depthwise convolutions, by the type of the device and the shape.
 *
 * All three are matrix products without the matrix in memory: y and dx gather the rows of A while they
 * multiply (dx gathers dy through the mirrored window, with the flipped kernel), so the next kernels fuse as
 * into a GEMM. y and dx of a convolution with one tap and stride 1 are plain products (gemm.h), and so is
 * dkernel on devices that are not CPUs, if there is no dbias, which the tiles of convolutions compute beside
 * dkernel. dkernel and dbias are sums over all positions of all images. On CPU devices the images are cut
 * into at most PARTIALS_CHUNKS_MAX chunks, by the size of the batch; on other devices the positions of all
 * images are cut into at most CONV_GPU_CHUNKS_MAX chunks, and the sums of y and dx into chunks as those of
 * products, by the shapes (tiles.h). Each chunk is summed, then the chunks. See kernels/conv_packed.cl,
 * conv.cl and conv_tiled.cl.
 *
 * On CPU devices y and dx of windows of 3 x 3 with stride 1 are computed in quads, blocks of 2 x 2 positions,
 * which need fewer products (kernels/conv_winograd.cl): 1.6 to 1.9 times as fast. Their sums have another
 * order than those of other devices; the error is no larger. The root of the mean square of the difference
 * to float64, with numbers as behind a relu, relative to that of y: 64 channels 2.3e-7, others 3.0e-7; 512
 * channels 6.1e-7, others 8.8e-7. Only the window and the numbers of channels choose them, so the numbers of
 * a row have the same bits in every batch.
 *
 * Depthwise convolutions have an order of every sum that does not depend on the device
 * (kernels/depthwise.cl). CPU devices work on whole lines in vectors of 16 channels, unless a channel has
 * several filters.
 */
#pragma once

#include "model/plan/window.h"

/* Most chunks of positions of a gradient of a kernel, on devices that are not CPUs. */
#define CONV_GPU_CHUNKS_MAX 1024u

struct conv {
	const struct node *node;
	struct window window;
	uint64_t channels, filters;
};

/* Appends the launches of y = x * kernel; gemm_is() is true for the last one. */
void conv_emit(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t kernel, uint32_t y);
/* Appends dx = dy * flipped kernel, or with `add` dx += ... */
void conv_emit_input_gradient(struct plan *plan, const struct conv *conv, uint32_t dy, uint32_t kernel,
			      uint32_t dx, bool add);
/* Appends the gradients of kernel and bias. `dbias` is GRAPH_NO_TENSOR if the layer has no bias. */
void conv_emit_kernel_gradient(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy,
			       uint32_t dkernel, uint32_t dbias);

/* Depthwise convolution: each filter reads one channel only; filters = channels * multiplier, kernel [size,
 * channels, multiplier]. */
void conv_emit_depthwise(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t kernel, uint32_t y);
void conv_emit_depthwise_input_gradient(struct plan *plan, const struct conv *conv, uint32_t dy,
					uint32_t kernel, uint32_t dx, bool add);
void conv_emit_depthwise_kernel_gradient(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy,
					 uint32_t dkernel, uint32_t dbias);
