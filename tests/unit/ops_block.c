/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that the blocks of image networks are made of: see ops.h. */
#include "tests/unit/ops.h"

#define RELU_OF(count, ...) OP("relu", ATTRIBUTES(count, __VA_ARGS__))
#define PADDED(...)         OP("zero_padding2d", ATTRIBUTES(1, __VA_ARGS__))
#define END                 OP("flatten"), DENSE(5), SOFTMAX

static struct config_layer relus[] = { DENSE(9), RELU_OF(1, FLOAT_ATTRIBUTE("max_value", 0.4)),
				       DENSE(9), RELU_OF(1, FLOAT_ATTRIBUTE("negative_slope", 0.1)),
				       DENSE(5), SOFTMAX };
static struct config_layer relu_thresholds[] = { DENSE(9),
						 RELU_OF(1, FLOAT_ATTRIBUTE("threshold", 0.05)),
						 DENSE(9),
						 RELU_OF(3, FLOAT_ATTRIBUTE("max_value", 0.7),
							 FLOAT_ATTRIBUTE("threshold", 0.04),
							 FLOAT_ATTRIBUTE("negative_slope", 0.25)),
						 DENSE(5),
						 SOFTMAX };
static struct config_layer relu6s[] = { DENSE(9), OP("relu6"), DENSE(5), SOFTMAX };
static struct config_layer relu6_activation[] = {
	OP("dense", ATTRIBUTES(2, INT_ATTRIBUTE("units", 9), TEXT_ATTRIBUTE("activation", "relu6"))),
	DENSE(5), SOFTMAX
};
static struct config_layer products[] = {
	NAMED("dense", "a", UNITS(9)),          RELU,     NAMED("dense", "b", UNITS(9)),
	OP("multiply", INPUTS_OF(2, "b", "a")), DENSE(5), SOFTMAX
};
static struct config_layer product_of_three[] = { NAMED("dense", "a", UNITS(9)),
						  NAMED("dense", "b", UNITS(9)),
						  OP("multiply", INPUTS_OF(4, "b", "a", "b", "a")), DENSE(5),
						  SOFTMAX };
#define MERGED(f, n, ...)                                                                                   \
	{                                                                                                   \
		NAMED("dense", "a", UNITS(9)), NAMED("dense", "b", UNITS(9)),                               \
			NAMED("dense", "c", INPUTS_OF(1, "a"), UNITS(9)), OP(f, INPUTS_OF(n, __VA_ARGS__)), \
			OP("dense", UNITS(9)), RELU, DENSE(5), SOFTMAX                                      \
	}
static struct config_layer subtracts[] = MERGED("subtract", 2, "c", "b");
static struct config_layer averages[] = MERGED("average", 4, "c", "a", "b", "a");
static struct config_layer maximums[] = MERGED("maximum", 4, "c", "a", "b", "a");
static struct config_layer minimums[] = MERGED("minimum", 3, "b", "a", "c");
static struct config_layer dots[] = { NAMED("dense", "a", UNITS(9)),
				      NAMED("dense", "b", INPUTS_OF(1, "sentence"), UNITS(9)),
				      NAMED("dot", "d", INPUTS_OF(2, "b", "a"),
					    ATTRIBUTES(1, INT_ATTRIBUTE("axes", 1))),
				      OP("concatenate", INPUTS_OF(2, "d", "a")),
				      DENSE(5),
				      SOFTMAX };
/* Squeeze and excite: the gate is [1, 1, channels]. */
static struct config_layer gates[] = { NAMED("dense", "a", UNITS(4)),
				       OP("global_average_pooling2d",
					  ATTRIBUTES(1, BOOL_ATTRIBUTE("keepdims", 1))),
				       NAMED("dense", "s", UNITS(4)),
				       NAMED("sigmoid", "g"),
				       NAMED("multiply", "m", INPUTS_OF(2, "g", "a")),
				       OP("multiply", INPUTS_OF(3, "m", "g", "a")),
				       END };
static struct config_layer paddings[] = { DENSE(3), PADDED(INT_ATTRIBUTE("padding", 2)), DENSE(4),
					  PADDED(INTS_ATTRIBUTE("padding", 2, 1, 0)), END };
static struct config_layer padding_sides[] = { DENSE(3), PADDED(INTS_ATTRIBUTE("padding", 4, 0, 2, 1, 3)),
					       OP("zero_padding2d"), END };
#define PERMUTE(n, ...) OP("permute", ATTRIBUTES(1, INTS_ATTRIBUTE("dims", n, __VA_ARGS__)))
static struct config_layer permutes[] = { NAMED("dense", "a", UNITS(4)),
					  PERMUTE(3, 3, 1, 2),
					  DENSE(5),
					  NAMED("permute", "p",
						ATTRIBUTES(1, INTS_ATTRIBUTE("dims", 3, 2, 3, 1))),
					  OP("add", INPUTS_OF(2, "p", "a")),
					  PERMUTE(3, 1, 2, 3),
					  END };
static struct config_layer permute_matrix[] = { DENSE(6), PERMUTE(2, 2, 1), DENSE(3), END };
static struct config_layer spatial_dropouts[] = {
	DENSE(7), OP("spatial_dropout2d", ATTRIBUTES(1, FLOAT_ATTRIBUTE("rate", 0.4))), RELU, END
};

#define PREPROCESS(of) OP("preprocess_input", ATTRIBUTES(1, TEXT_ATTRIBUTE("mode", of)))
/* The second dense brings numbers back to about 1. */
static struct config_layer preprocesses[] = { DENSE(3), PREPROCESS("torch"), DENSE(3), PREPROCESS("lite"),
					      DENSE(3), PREPROCESS("tf"),    END };
static struct config_layer preprocess_caffe[] = {
	DENSE(3), PREPROCESS("caffe"), OP("rescaling", ATTRIBUTES(1, FLOAT_ATTRIBUTE("scale", 0.01))), END
};

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET(relus),
	NET(relu_thresholds),
	NET(relu6s),
	NET(relu6_activation),
	NET(products),
	NET(subtracts),
	NET(averages),
	NET(maximums),
	NET(minimums),
	NET(dots),
	NET_WITHIN(2e-5, product_of_three),
	NET_WITHIN(2e-5, gates, 4, 5, 3),
	NET(paddings, 4, 5, 3),
	NET(padding_sides, 4, 5, 3),
	NET(permutes, 4, 5, 3),
	NET(permute_matrix, 4, 5),
	NET(spatial_dropouts, 4, 5, 3),
	NET(preprocesses, 4, 5, 3),
	NET_WITHIN(2e-5, preprocess_caffe, 4, 5, 3),
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TESTS,
	};

	ops_open("block", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
