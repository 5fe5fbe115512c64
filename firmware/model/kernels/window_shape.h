/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window over images: plan/window.c computes it, kernels read it. plan/window.h and kernels/window.cl
 * include this file.
 */
#ifdef __OPENCL_VERSION__
typedef int window_int;
#else
#pragma once

#include <stdint.h>

typedef int32_t window_int;
#endif

/* Index 0 is height, 1 width. Position o of the window covers, for k < size, the coordinates o * stride + k *
 * dilation - before. Number i of the input has the coordinate i * apart; the coordinates between the numbers
 * are padding. */
struct window {
	window_int in[2], out[2], size[2], stride[2], dilation[2], before[2], apart[2];
};
