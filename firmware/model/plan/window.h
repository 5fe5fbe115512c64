/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window that slides over images [height, width, channels]: what convolutions and pooling share. Padding as
 * TensorFlow's: "valid" is none; "same" makes ceil(in / stride) places and pads evenly, the odd one at the
 * end. [0] is height, [1] width.
 */
#pragma once

#include "model/plan/plan.h"

/* As kernels/window.cl has it. Place o of the window covers numbers o * stride + k * dilation - before of an
 * input whose numbers lie `apart` from each other, zeros between them; k < size. */
struct window {
	int32_t in[2], out[2], size[2], stride[2], dilation[2], before[2], apart[2];
};

/* For attribute tables. */
extern const char *const window_paddings[]; /* "valid", "same" */
#define WINDOW_SIZE_MAX 1024

/* As attributes say; lists of two. */
struct window_keys {
	const int64_t *size, *strides, *dilation;
	const char *padding;
};

/* Lay it over `input`; without any place where an attribute was wrong. Errors: -EINVAL no image, a window
 * larger than it, or strides with a dilation. */
MUST_CHECK int window_make(const struct tensor *input, const struct window_keys *keys,
			   struct window *ret_window, struct error *err);

/* Places and numbers change sides: which outputs an input goes into, k counted from the end. */
struct window window_mirrored(const struct window *window);

/* The index of number `in` that place `out` covers at `k`, on one side; -1: padding. */
int32_t window_source(const struct window *window, uint32_t side, int32_t out, int32_t k);

/* The window for kernels: a constant of the node, by name. */
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
