/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that normalize: see ops.h. */
#include "tests/unit/ops.h"

/* 13 rows of 6 need two chunks in the tree of sums; 400 rows need two levels of the tree. */
static struct config_layer batch_norms[] = { DENSE(4),      OP("batch_norm"), RELU,
					     OP("flatten"), DENSE(5),         SOFTMAX };
static struct config_layer batch_norm_plain[] = {
	DENSE(9),
	OP("batch_norm", ATTRIBUTES(4, BOOL_ATTRIBUTE("center", 0), BOOL_ATTRIBUTE("scale", 0),
				    FLOAT_ATTRIBUTE("momentum", 0.6), FLOAT_ATTRIBUTE("epsilon", 0.1))),
	DENSE(5), SOFTMAX
};
static struct config_layer batch_norm_frozen[] = {
	DENSE(4), OP("batch_norm", ATTRIBUTES(1, BOOL_ATTRIBUTE("trainable", 0))), DENSE(5), SOFTMAX
};
static struct config_layer layer_norms[] = { DENSE(4),      OP("layer_norm"), RELU,
					     OP("flatten"), DENSE(5),         SOFTMAX };
static struct config_layer layer_norm_plain[] = {
	DENSE(9),
	OP("layer_norm", ATTRIBUTES(3, BOOL_ATTRIBUTE("center", 0), BOOL_ATTRIBUTE("scale", 0),
				    FLOAT_ATTRIBUTE("epsilon", 0.1))),
	DENSE(5), SOFTMAX
};
static struct config_layer row_norms[] = { DENSE(4),      OP("rms_normalization"),
					   DENSE(9),      OP("unit_normalization"),
					   OP("flatten"), DENSE(5),
					   SOFTMAX };
static struct config_layer normalizations[] = { OP("normalization"), DENSE(9), OP("normalization"), DENSE(5),
						SOFTMAX };

/* More columns than a group of a CPU device sums, not a multiple of its vectors, and more rows than it takes.
 */
static struct config_layer batch_norm_wide[] = { DENSE(72),     OP("batch_norm"), RELU,
						 OP("flatten"), DENSE(5),         SOFTMAX };
static struct config_layer batch_norm_wide_frozen[] = {
	DENSE(88), OP("batch_norm", ATTRIBUTES(1, BOOL_ATTRIBUTE("trainable", 0))), OP("flatten"), DENSE(5),
	SOFTMAX
};
/* The gradient is added to that of the sum. */
static struct config_layer batch_norm_added[] = { NAMED("dense", "a", UNITS(24)),
						  NAMED("batch_norm", "b", INPUTS_OF(1, "a")),
						  OP("add", INPUTS_OF(2, "a", "b")),
						  OP("flatten"),
						  DENSE(5),
						  SOFTMAX };

/* Rows of one number, of many, and of numbers of columns that are and are not multiples of 4 (plan/rows.h).
 */
#define ROWS_OF(n)                                                                    \
	{                                                                             \
		DENSE(n), OP("layer_norm"), SOFTMAX, OP("flatten"), DENSE(5), SOFTMAX \
	}
static struct config_layer rows_of_1[] = ROWS_OF(1);
static struct config_layer rows_of_16[] = ROWS_OF(16);
static struct config_layer rows_of_150[] = ROWS_OF(150);
static struct config_layer rows_of_260[] = ROWS_OF(260);
static struct config_layer rows_of_1027[] = ROWS_OF(1027);

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET(batch_norms, 3, 2, 5),
	NET_WITHIN(1e-5, batch_norms, 400, 2),
	NET(batch_norm_plain),
	NET(batch_norm_frozen),
	NET(layer_norms, 3, 2, 5),
	NET_WITHIN(1e-5, layer_norms, 400, 2),
	NET(layer_norm_plain),
	NET(row_norms, 3, 5),
	NET(rows_of_1),
	NET(rows_of_16, 7, 3),
	NET_WITHIN(1e-5, rows_of_150, 3),
	NET_WITHIN(1e-5, rows_of_260, 2, 2),
	NET_WITHIN(2e-5, rows_of_1027, 2),
	NET(normalizations),
	NET_WITHIN(1e-5, batch_norm_wide, 15, 3),
	NET_WITHIN(1e-5, batch_norm_wide_frozen, 15, 3),
	NET_WITHIN(1e-5, batch_norm_added, 5, 3),
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TESTS,
	};

	ops_open("norm", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
