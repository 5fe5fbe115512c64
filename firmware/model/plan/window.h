/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window that slides over images [height, width, channels], or over sequences [steps, channels]: the
 * geometry that convolutions and pooling share. A sequence is an image of one line, whose width are the
 * steps. Padding is TensorFlow's: "valid" adds none; "same" makes ceil(in / stride) positions and pads begin
 * and end evenly; if the number is odd, the end gets one more. Index 0 of each pair is height, 1 width. A
 * position of the window is an element of the output.
 */
#pragma once

#include "model/kernels/window_shape.h"
#include "model/plan/plan.h"

/* The values of the attribute `padding`. */
extern const char *const window_paddings[]; /* "valid", "same" */
#define WINDOW_SIZE_MAX 1024

/* The attributes of a layer that describe its window. `size`, `strides` and `dilation` point to two numbers
 * each, for a sequence to one. */
struct window_keys {
	const int64_t *size, *strides, *dilation;
	const char *padding;
	bool sequence; /* the input must be a sequence; otherwise an image */
};

/* Makes the window over `input`. If an attribute has a mistake, which is noted already, the window has no
 * positions. Errors: -EINVAL the input is no image or no sequence, the window is larger than it, or both
 * strides and dilation are above 1. */
MUST_CHECK int window_make(const struct tensor *input, const struct window_keys *keys,
			   struct window *ret_window, struct error *err);

/* Sets the shape that a layer makes of `input`: `channels` numbers for each position of the window. */
void window_output(const struct window *window, const struct tensor *input, uint64_t channels,
		   struct tensor *output);

/* Returns the window of the backward pass. It covers, for each position of the input, the outputs that the
 * position contributes to, with k counted from the end. */
struct window window_mirrored(const struct window *window);

/* Returns the index in the input that element `k` of the window covers at position `out`, on one side (0
 * height, 1 width); -1: padding. */
int32_t window_source(const struct window *window, uint32_t side, int32_t out, int32_t k);

/* Returns whether tap `tap` of a position of the window is within the image, not padding; sets *ret_at to the
 * index in height * width of the image. */
bool window_pixel(const struct window *window, uint64_t position, uint64_t tap, uint64_t *ret_at);

/* Returns the constant tensor "<node>/<name>" that holds the window for kernels. */
uint32_t window_tensor(struct plan *plan, const struct node *node, const char *name,
		       const struct window *window);

static inline uint64_t window_taps(const struct window *window)
{
	return (uint64_t)window->size[0] * (uint64_t)window->size[1];
}

static inline uint64_t window_positions(const struct window *window)
{
	return (uint64_t)window->out[0] * (uint64_t)window->out[1];
}
