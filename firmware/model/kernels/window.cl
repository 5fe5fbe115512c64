/* SPDX-License-Identifier: Apache-2.0 */
/* A window over images, struct window of model/plan/window.h: which numbers of the input each position covers. A
 * position of the window is an element of the output. */

#include "window_shape.h"

/* Returns the index in the input that element `k` of the window covers at position `out`, on one side (0 height, 1
 * width); -1: padding. */
int window_source(__global const struct window *g, int side, int out, int k)
{
	const int at = out * g->stride[side] + k * g->dilation[side] - g->before[side];
	const int i = g->apart[side] == 1 ? at : at / g->apart[side];

	return at >= 0 && i * g->apart[side] == at && i < g->in[side] ? i : -1;
}

/* Returns (begin, end) of the input indices that position `out` covers on one side, for a window without dilation. */
int2 window_span(__global const struct window *g, int side, int out)
{
	const int at = out * g->stride[side] - g->before[side];

	return (int2)(max(0, at), min(g->in[side], at + g->size[side]));
}

/* Returns (begin, end) of the positions that cover index `in` of the input on one side, for a window without
 * dilation. */
int2 window_positions(__global const struct window *g, int side, int in)
{
	const int end = in + g->before[side], stride = g->stride[side];

	return (int2)(max(0, end - g->size[side] + stride) / stride, min(g->out[side], end / stride + 1));
}
