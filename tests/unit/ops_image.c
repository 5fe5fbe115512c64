/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pools: see ops.h. */
#include "tests/unit/ops.h"

#define CONV(n, h, w)         INT_ATTRIBUTE("filters", n), INTS_ATTRIBUTE("kernel_size", 2, h, w)
#define SAME                  TEXT_ATTRIBUTE("padding", "same")
#define STRIDES(h, w)         INTS_ATTRIBUTE("strides", 2, h, w)
#define CONV2D(count, ...)    OP("conv2d", ATTRIBUTES(count, __VA_ARGS__))
#define DEPTHWISE(count, ...) OP("depthwise_conv2d", ATTRIBUTES(count, __VA_ARGS__))
#define POOL(kind, h, w, count, ...) \
	OP(kind "_pooling2d", ATTRIBUTES(1 + (count), INTS_ATTRIBUTE("pool_size", 2, h, w), ##__VA_ARGS__))
#define IMAGE_END OP("flatten"), DENSE(5), SOFTMAX
static struct config_layer convs[] = { CONV2D(3, CONV(5, 3, 3), SAME), RELU,
				       CONV2D(4, CONV(37, 3, 2), SAME, STRIDES(2, 1)), IMAGE_END };
static struct config_layer conv_wide[] = { CONV2D(2, CONV(17, 1, 1)), CONV2D(2, CONV(70, 3, 3)), RELU,
					   IMAGE_END };
/* Windows of 3 x 3 with stride 1: quads of 2 x 2 positions, some beyond the edges, for y and for dx. */
static struct config_layer conv_quads[] = { CONV2D(2, CONV(48, 1, 1)), CONV2D(3, CONV(20, 3, 3), SAME), RELU,
					    CONV2D(2, CONV(4, 1, 1)), IMAGE_END };
static struct config_layer conv_quads_wide[] = { CONV2D(2, CONV(16, 1, 1)), CONV2D(2, CONV(70, 3, 3)), RELU,
						 CONV2D(2, CONV(4, 1, 1)), IMAGE_END };
static struct config_layer conv_quads_back[] = { NAMED("conv2d", "a", ATTRIBUTES(2, CONV(20, 1, 1))),
						 RELU,
						 CONV2D(2, CONV(48, 3, 3)),
						 CONV2D(3, CONV(20, 3, 1), SAME),
						 OP("zero_padding2d"),
						 OP("add", INPUTS_OF(2, "zero_padding2d", "a")),
						 CONV2D(2, CONV(4, 1, 1)),
						 IMAGE_END };
/* Plain products of matrices; one adds its gradient to that of the sum. */
static struct config_layer conv_points[] = { NAMED("conv2d", "a", ATTRIBUTES(2, CONV(17, 1, 1))),
					     RELU,
					     CONV2D(3, CONV(33, 1, 1), BOOL_ATTRIBUTE("use_bias", 0)),
					     CONV2D(2, CONV(17, 1, 1)),
					     OP("add", INPUTS_OF(2, "conv2d_2", "a")),
					     CONV2D(3, CONV(9, 1, 1), STRIDES(2, 1)),
					     IMAGE_END };
static struct config_layer conv_dilated[] = { CONV2D(3, CONV(3, 2, 2), SAME),
					      CONV2D(5, CONV(20, 3, 2), SAME,
						     INTS_ATTRIBUTE("dilation_rate", 2, 2, 1),
						     BOOL_ATTRIBUTE("use_bias", 0)),
					      RELU, IMAGE_END };
static struct config_layer conv_apart[] = { DENSE(2), CONV2D(3, CONV(9, 2, 1), STRIDES(3, 2)),
					    CONV2D(3, CONV(33, 5, 4), SAME), IMAGE_END };
/* Few channels: a line of the kernel is one tap, where it is inside the image. */
static struct config_layer conv_lines[] = { CONV2D(3, CONV(20, 3, 3), STRIDES(2, 1)), RELU, IMAGE_END };
static struct config_layer conv_lines_same[] = { CONV2D(4, CONV(40, 3, 4), SAME, STRIDES(1, 2)), RELU,
						 IMAGE_END };
static struct config_layer conv_dropped[] = {
	CONV2D(2, CONV(4, 2, 2)), DROPOUT(0.3), CONV2D(2, CONV(7, 5, 4)), RELU, DROPOUT(0.2), IMAGE_END
};
static struct config_layer conv_residual[] = { NAMED("conv2d", "a", ATTRIBUTES(3, CONV(6, 3, 3), SAME)), RELU,
					       CONV2D(3, CONV(6, 3, 3), SAME),
					       OP("add", INPUTS_OF(2, "conv2d_1", "a")), IMAGE_END };
static struct config_layer depthwises[] = {
	DEPTHWISE(3, INT_ATTRIBUTE("kernel_size", 3), SAME, INT_ATTRIBUTE("depth_multiplier", 3)), RELU,
	DEPTHWISE(3, INTS_ATTRIBUTE("kernel_size", 2, 3, 2), STRIDES(2, 2),
		  INT_ATTRIBUTE("depth_multiplier", 2)),
	DEPTHWISE(3, INT_ATTRIBUTE("kernel_size", 2), SAME, BOOL_ATTRIBUTE("use_bias", 0)), IMAGE_END
};
static struct config_layer depthwise_lines[] = {
	DEPTHWISE(2, INT_ATTRIBUTE("kernel_size", 5), SAME),
	RELU,
	DEPTHWISE(3, INT_ATTRIBUTE("kernel_size", 3), SAME, STRIDES(2, 2)),
	RELU,
	DEPTHWISE(2, INTS_ATTRIBUTE("kernel_size", 2, 2, 1), INTS_ATTRIBUTE("dilation_rate", 2, 2, 1)),
	IMAGE_END
};
/* Zeros after relu are equal: the first one gets the gradient. */
static struct config_layer max_pools[] = { DENSE(3), RELU, POOL("max", 3, 2, 2, SAME, STRIDES(2, 1)),
					   POOL("max", 2, 2, 0), IMAGE_END };
/* A relu whose gradient comes from a pool and from the sum, and one whose input adds gradients. */
static struct config_layer pool_branches[] = { NAMED("dense", "a", ATTRIBUTES(1, INT_ATTRIBUTE("units", 3))),
					       NAMED("relu", "b", .attributes = 0),
					       POOL("max", 2, 2, 2, SAME, STRIDES(1, 1)),
					       OP("add", INPUTS_OF(2, "max_pooling2d", "b")),
					       RELU,
					       POOL("max", 3, 3, 2, SAME, STRIDES(1, 1)),
					       OP("add", INPUTS_OF(2, "max_pooling2d_1", "a")),
					       IMAGE_END };
/* The gradient of `a` gets that of `c` before it gets that of the relu. */
static struct config_layer pool_crossed[] = {
	NAMED("dense", "a", ATTRIBUTES(1, INT_ATTRIBUTE("units", 3))),
	NAMED("relu", "b", .attributes = 0),
	NAMED("dense", "c", INPUTS_OF(1, "a"), ATTRIBUTES(1, INT_ATTRIBUTE("units", 3))),
	OP("max_pooling2d", INPUTS_OF(1, "b"), ATTRIBUTES(2, SAME, STRIDES(1, 1))),
	OP("add", INPUTS_OF(2, "c", "max_pooling2d")),
	IMAGE_END
};
static struct config_layer average_pools[] = { DENSE(3), POOL("average", 3, 2, 2, SAME, STRIDES(2, 1)),
					       POOL("average", 2, 2, 0), IMAGE_END };
static struct config_layer pools_apart[] = { DENSE(3), POOL("max", 2, 1, 1, STRIDES(3, 2)),
					     POOL("average", 1, 2, 1, STRIDES(2, 3)), IMAGE_END };
static struct config_layer global_max[] = { DENSE(6), OP("global_max_pooling2d"), DENSE(5), SOFTMAX };
static struct config_layer global_average[] = {
	DENSE(6), OP("global_average_pooling2d", ATTRIBUTES(1, BOOL_ATTRIBUTE("keepdims", 1))), IMAGE_END
};
static struct config_layer global_flat[] = { DENSE(6), OP("global_average_pooling2d"), DENSE(5), SOFTMAX };

/* Sequences [steps, channels]. */
static struct config_layer sequences[] = {
	OP("conv1d", ATTRIBUTES(3, INT_ATTRIBUTE("filters", 18), INT_ATTRIBUTE("kernel_size", 3), SAME)),
	OP("max_pooling1d"),
	OP("conv1d", ATTRIBUTES(3, INT_ATTRIBUTE("filters", 6), INT_ATTRIBUTE("kernel_size", 2),
				INT_ATTRIBUTE("strides", 2))),
	OP("zero_padding1d", ATTRIBUTES(1, INTS_ATTRIBUTE("padding", 2, 2, 1))),
	OP("depthwise_conv1d",
	   ATTRIBUTES(3, INT_ATTRIBUTE("kernel_size", 2), SAME, INT_ATTRIBUTE("strides", 2))),
	OP("average_pooling1d", ATTRIBUTES(2, SAME, INT_ATTRIBUTE("pool_size", 3))),
	IMAGE_END
};
static struct config_layer sequences_global[] = {
	OP("conv1d", ATTRIBUTES(3, INT_ATTRIBUTE("filters", 7), INT_ATTRIBUTE("kernel_size", 3),
				INT_ATTRIBUTE("dilation_rate", 2))),
	NAMED("global_max_pooling1d", "most"),
	OP("global_average_pooling1d", INPUTS_OF(1, "conv1d")),
	OP("concatenate", INPUTS_OF(2, "most", "global_average_pooling1d")),
	DENSE(5),
	SOFTMAX
};

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET_WITHIN(2e-5, convs, 6, 5, 3),
	NET_WITHIN(2e-5, conv_wide, 5, 5, 2),
	NET_WITHIN(2e-5, conv_quads, 6, 5, 3),
	NET_WITHIN(2e-5, conv_quads_wide, 6, 6, 3),
	NET_WITHIN(2e-5, conv_quads_back, 6, 5, 3),
	NET_WITHIN(2e-5, conv_points, 5, 5, 2),
	NET_WITHIN(2e-5, conv_dilated, 6, 5, 3),
	NET_WITHIN(2e-5, conv_apart, 7, 6, 3),
	NET_WITHIN(2e-5, conv_lines, 7, 8, 3),
	NET_WITHIN(2e-5, conv_lines_same, 6, 9, 3),
	NET_WITHIN(2e-5, conv_dropped, 6, 5, 3),
	NET_WITHIN(2e-5, conv_residual, 4, 5, 3),
	NET_WITHIN(2e-5, depthwises, 6, 5, 3),
	NET_WITHIN(2e-5, depthwise_lines, 6, 5, 19),
	NET(max_pools, 6, 5, 3),
	NET(pool_branches, 6, 5, 3),
	NET(pool_crossed, 6, 5, 3),
	NET(average_pools, 6, 5, 3),
	NET(pools_apart, 7, 8, 3),
	NET(global_max, 6, 5, 3),
	NET(global_average, 6, 5, 3),
	NET(global_flat, 6, 5, 3),
	NET_WITHIN(2e-5, sequences, 12, 5),
	NET_WITHIN(2e-5, sequences_global, 9, 5),
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TESTS,
	};

	ops_open("image", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
