/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window that slides over images [height, width, channels]: the geometry that convolutions and pooling
 * share. Padding is TensorFlow's: "valid" adds none; "same" makes ceil(in / stride) places and pads both
 * sides evenly, an odd number has one more at the end. Index 0 of each pair is height, 1 width. A "place"
 * here is a position of the window, that is an element of the output.
 */
#pragma once

#include "model/kernels/window_shape.h"
#include "model/plan/plan.h"

/* The values of the attribute `padding`. */
extern const char *const window_paddings[]; /* "valid", "same" */
#define WINDOW_SIZE_MAX 1024

/* The attributes of a layer; lists of two. */
struct window_keys {
	const int64_t *size, *strides, *dilation;
	const char *padding;
};

/* Makes the window over `input`. A wrong attribute, already reported, gives a window without places. Errors:
 * -EINVAL the input is no image, the window is larger than it, or both strides and dilation are above 1. */
MUST_CHECK int window_make(const struct tensor *input, const struct window_keys *keys,
			   struct window *ret_window, struct error *err);

/* Returns the window of the backward pass: it maps an input to the outputs that it goes into, with k counted
 * from the end. */
struct window window_mirrored(const struct window *window);

/* Returns the index of the input that place `out` covers at `k`, on one side; -1: padding. */
int32_t window_source(const struct window *window, uint32_t side, int32_t out, int32_t k);

/* Returns the constant tensor "<node>/<name>" that holds the window for kernels. */
uint32_t window_tensor(struct plan *plan, const struct node *node, const char *name,
		       const struct window *window);

static inline uint64_t window_taps(const struct window *window)
{
	return (uint64_t)window->size[0] * (uint64_t)window->size[1];
}

static inline uint64_t window_places(const struct window *window)
{
	return (uint64_t)window->out[0] * (uint64_t)window->out[1];
}
