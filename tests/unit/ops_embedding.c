/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are indexed by ids: see ops.h. */
#include "tests/unit/ops.h"

/* For ids and for ragged tokens: 3, 16 and 21 columns are a part of a block, one block, and more than one. */
#define TABLE_OF(columns) INT_ATTRIBUTE("input_dim", TABLE), INT_ATTRIBUTE("output_dim", columns)
static struct config_layer casts[] = { OP("cast", INPUTS_OF(1, "ids")), DENSE(5), SOFTMAX };
static struct config_layer embeddings[] = { OP("embedding", INPUTS_OF(1, "ids"), ATTRIBUTES(2, TABLE_OF(3))),
					    DENSE(4), OP("flatten"), DENSE(5), SOFTMAX };
static struct config_layer embedding_frozen[] = {
	OP("embedding", INPUTS_OF(1, "ids"), ATTRIBUTES(3, TABLE_OF(21), BOOL_ATTRIBUTE("trainable", 0))),
	OP("flatten"), DENSE(5), SOFTMAX
};
#define BAG(columns, combiner)                      \
	OP("embedding_bag", INPUTS_OF(1, "tokens"), \
	   ATTRIBUTES(3, TABLE_OF(columns), TEXT_ATTRIBUTE("combiner", combiner)))
static struct config_layer bag_mean[] = {
	OP("embedding_bag", INPUTS_OF(1, "tokens"), ATTRIBUTES(2, TABLE_OF(21))), RELU, DENSE(5), SOFTMAX
};
static struct config_layer bag_sum[] = { BAG(16, "sum"), DENSE(5), SOFTMAX };
static struct config_layer bag_sqrtn[] = { BAG(3, "sqrtn"), DENSE(5), SOFTMAX };
/* Two tables, and a layer that adds both and a dense layer. */
static struct config_layer tables[] = {
	NAMED("embedding_bag", "a", INPUTS_OF(1, "tokens"), ATTRIBUTES(2, TABLE_OF(12))),
	NAMED("embedding", "b", INPUTS_OF(1, "ids"), ATTRIBUTES(2, TABLE_OF(2))),
	OP("flatten"),
	NAMED("dense", "c", INPUTS_OF(1, "sentence"), UNITS(12)),
	OP("add", INPUTS_OF(3, "a", "flatten", "c")),
	DENSE(5),
	SOFTMAX
};

/* The mean of the steps whose id is not 0, of a tensor that another layer reads, too. */
static struct config_layer masked_mean[] = {
	NAMED("embedding", "e", INPUTS_OF(1, "words"),
	      ATTRIBUTES(3, TABLE_OF(21), BOOL_ATTRIBUTE("mask_zero", 1))),
	NAMED("global_average_pooling1d", "a", ATTRIBUTES(1, BOOL_ATTRIBUTE("keepdims", 1))),
	OP("flatten"),
	NAMED("global_max_pooling1d", "b", INPUTS_OF(1, "e")),
	OP("add", INPUTS_OF(2, "flatten", "b")),
	DENSE(5),
	SOFTMAX
};

#define WORD_VECTORS NAMED("embedding", "e", INPUTS_OF(1, "words"), ATTRIBUTES(2, TABLE_OF(21)))
#define POSITIONS_OF(length) \
	NAMED("position_embedding", "p", ATTRIBUTES(1, INT_ATTRIBUTE("sequence_length", length)))
static struct config_layer positions[] = {
	WORD_VECTORS, POSITIONS_OF(WORDS), OP("add", INPUTS_OF(2, "p", "e")), OP("flatten"), DENSE(5), SOFTMAX
};
/* No gradient goes to the input: that of the embedding is zero. */
static struct config_layer positions_alone[] = { WORD_VECTORS, POSITIONS_OF(40), OP("flatten"), DENSE(5),
						 SOFTMAX };

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET(casts),     NET(embeddings), NET(embedding_frozen), NET(bag_mean),  NET(bag_sum),
	NET(bag_sqrtn), NET(tables),     NET(masked_mean),      NET(positions), NET(positions_alone),
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TESTS,
	};

	ops_open("embedding", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
