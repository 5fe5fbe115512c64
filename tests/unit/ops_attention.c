/* SPDX-License-Identifier: Apache-2.0 */
/* multi_head_attention: see ops.h. */
#include "tests/unit/ops.h"

#define HEADS(n, size, ...) INT_ATTRIBUTE("num_heads", n), INT_ATTRIBUTE("key_dim", size), ##__VA_ARGS__
#define END                 OP("flatten"), DENSE(CLASSES), SOFTMAX

/* 35 steps are whole tiles of queries and keys and parts of one, on every device. */
static struct config_layer self[] = { DENSE(5),
				      OP("multi_head_attention",
					 ATTRIBUTES(4, HEADS(2, 3), INT_ATTRIBUTE("value_dim", 4),
						    FLOAT_ATTRIBUTE("dropout", 0.2))),
				      END };
static struct config_layer causal[] = { DENSE(5),
					OP("multi_head_attention",
					   ATTRIBUTES(4, HEADS(1, 17), BOOL_ATTRIBUTE("use_causal_mask", 1),
						      BOOL_ATTRIBUTE("use_bias", 0))),
					END };
/* Fewer queries than keys; another input for each of query, value and key. 70 is more than
 * ATTENTION_COLUMNS.
 */
static struct config_layer cross[] = { NAMED("dense", "v", UNITS(4)),
				       NAMED("dense", "k", INPUTS_OF(1, "sentence"), UNITS(3)),
				       NAMED("max_pooling1d", "q",
					     ATTRIBUTES(1, INT_ATTRIBUTE("pool_size", 2))),
				       NAMED("multi_head_attention", "a", INPUTS_OF(3, "q", "v", "k"),
					     ATTRIBUTES(3, HEADS(1, 70), INT_ATTRIBUTE("value_dim", 66))),
				       NAMED("multi_head_attention", "b", INPUTS_OF(2, "a", "v"),
					     ATTRIBUTES(4, HEADS(2, 2), FLOAT_ATTRIBUTE("dropout", 0.4),
							BOOL_ATTRIBUTE("use_causal_mask", 1))),
				       END };

/* More queries than keys: the last ones see all keys. */
static struct config_layer longer[] = { NAMED("max_pooling1d", "v",
					      ATTRIBUTES(1, INT_ATTRIBUTE("pool_size", 2))),
					OP("multi_head_attention", INPUTS_OF(2, "sentence", "v"),
					   ATTRIBUTES(3, HEADS(1, 3), BOOL_ATTRIBUTE("use_causal_mask", 1))),
					END };

/* One tensor as query, value and key. */
static struct config_layer twice[] = {
	NAMED("dense", "x", UNITS(4)),
	OP("multi_head_attention", INPUTS_OF(2, "x", "x"), ATTRIBUTES(2, HEADS(1, 3))), END
};

/* Masks: of query, keys or both. The rows of "words" have zeros in all places, and one has only zeros. */
#define WORDS_OF(columns, ...)                                                  \
	INPUTS_OF(1, "words"), ATTRIBUTES(3, INT_ATTRIBUTE("input_dim", TABLE), \
					  INT_ATTRIBUTE("output_dim", columns), __VA_ARGS__)
#define MASKED(columns) WORDS_OF(columns, BOOL_ATTRIBUTE("mask_zero", 1))
#define MEAN            OP("global_average_pooling1d"), DENSE(CLASSES), SOFTMAX
static struct config_layer masked[] = {
	OP("embedding", MASKED(3)),
	OP("multi_head_attention", ATTRIBUTES(3, HEADS(2, 3), FLOAT_ATTRIBUTE("dropout", 0.2))), END
};
static struct config_layer masked_causal[] = {
	OP("embedding", MASKED(3)),
	OP("multi_head_attention", ATTRIBUTES(3, HEADS(1, 3), BOOL_ATTRIBUTE("use_causal_mask", 1))), END
};
static struct config_layer masked_keys[] = {
	NAMED("embedding", "e", MASKED(4)),
	NAMED("conv1d", "q",
	      ATTRIBUTES(3, INT_ATTRIBUTE("filters", 3), INT_ATTRIBUTE("kernel_size", 3),
			 INT_ATTRIBUTE("strides", 2))),
	OP("multi_head_attention", INPUTS_OF(2, "q", "e"), ATTRIBUTES(2, HEADS(1, 17))), END
};
static struct config_layer masked_queries[] = {
	NAMED("embedding", "q", MASKED(3)), NAMED("dense", "k", UNITS(2)),
	NAMED("reshape", "free", ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 2, WORDS, 2))),
	OP("multi_head_attention", INPUTS_OF(2, "q", "free"), ATTRIBUTES(2, HEADS(1, 3))), END
};
/* Only the key has a mask, not the value. A block as transformers have it. */
static struct config_layer masked_block[] = {
	NAMED("embedding", "e", MASKED(4)),
	NAMED("reshape", "v", ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 2, WORDS, 4))),
	NAMED("multi_head_attention", "a", INPUTS_OF(3, "e", "v", "e"), ATTRIBUTES(2, HEADS(2, 2))),
	NAMED("add", "s", INPUTS_OF(2, "e", "a")),
	NAMED("layer_norm", "n"),
	NAMED("dense", "d", ATTRIBUTES(2, INT_ATTRIBUTE("units", 4), TEXT_ATTRIBUTE("activation", "gelu"))),
	NAMED("concatenate", "c", INPUTS_OF(2, "d", "n")),
	MEAN
};

/* To test a new op add a line here. */
static const struct net family_nets[] = { NET(self, 35, 3),    NET(causal, 35, 3), NET(cross, 6, 3),
					  NET(self, 1, 2),     NET(longer, 6, 3),  NET(twice, 6, 3),
					  NET(masked),         NET(masked_causal), NET(masked_keys),
					  NET(masked_queries), NET(masked_block) };

int main(void)
{
	static const struct CMUnitTest tests[] = { OPS_TESTS };

	ops_open("attention", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
