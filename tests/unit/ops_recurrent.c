/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers: see ops.h. */
#include "tests/unit/ops.h"

/* 18 units are a whole panel and a part of one; 13 rows are a whole work-group and a part of one. The second
 * layer has a gradient of its input, and the first no bias. */
#define PAIR(op, more)                                                                                  \
	{                                                                                               \
		OP(op, ATTRIBUTES(3, INT_ATTRIBUTE("units", 18), BOOL_ATTRIBUTE("return_sequences", 1), \
				  BOOL_ATTRIBUTE("use_bias", 0))),                                      \
			OP(op, ATTRIBUTES(2, INT_ATTRIBUTE("units", 5), more)), DENSE(CLASSES), SOFTMAX \
	}
static struct config_layer lstms[] = PAIR("lstm", TEXT_ATTRIBUTE("recurrent_activation", "hard_sigmoid"));
static struct config_layer grus[] = PAIR("gru", TEXT_ATTRIBUTE("recurrent_activation", "tanh"));
static struct config_layer simple_rnns[] = PAIR("simple_rnn", BOOL_ATTRIBUTE("go_backwards", 1));

/* A layer that reads its input backwards beside one that reads it forwards, in the order of the input or of
 * the recurrence. */
#define BOTH_WAYS(op, in_order)                                                                           \
	{                                                                                                 \
		NAMED("dense", "a", UNITS(4)),                                                            \
			NAMED(op, "f", INPUTS_OF(1, "a"),                                                 \
			      ATTRIBUTES(2, INT_ATTRIBUTE("units", 3),                                    \
					 BOOL_ATTRIBUTE("return_sequences", 1))),                         \
			NAMED(op, "b", INPUTS_OF(1, "a"),                                                 \
			      ATTRIBUTES(5, INT_ATTRIBUTE("units", 3),                                    \
					 BOOL_ATTRIBUTE("return_sequences", 1),                           \
					 BOOL_ATTRIBUTE("go_backwards", 1), in_order,                     \
					 FLOAT_ATTRIBUTE("dropout", 0.4))),                               \
			OP("concatenate", INPUTS_OF(2, "f", "b")), OP("flatten"), DENSE(CLASSES), SOFTMAX \
	}
static struct config_layer both_lstm[] = BOTH_WAYS("lstm", BOOL_ATTRIBUTE("in_order", 1));
static struct config_layer both_gru[] = BOTH_WAYS("gru", TEXT_ATTRIBUTE("activation", "linear"));

/* The rows of "words" have steps that do not count in all places, and one has only such. */
#define MASKED_PAIR(op, more)                                                                              \
	{                                                                                                  \
		OP("embedding", INPUTS_OF(1, "words"),                                                     \
		   ATTRIBUTES(3, INT_ATTRIBUTE("input_dim", TABLE), INT_ATTRIBUTE("output_dim", 3),        \
			      BOOL_ATTRIBUTE("mask_zero", 1))),                                            \
			OP(op,                                                                             \
			   ATTRIBUTES(3, INT_ATTRIBUTE("units", 5), BOOL_ATTRIBUTE("return_sequences", 1), \
				      FLOAT_ATTRIBUTE("dropout", 0.2))),                                   \
			OP(op, ATTRIBUTES(3, INT_ATTRIBUTE("units", 4), BOOL_ATTRIBUTE("go_backwards", 1), \
					  more)),                                                          \
			DENSE(CLASSES), SOFTMAX                                                            \
	}
static struct config_layer masked_lstms[] = MASKED_PAIR("lstm", BOOL_ATTRIBUTE("use_bias", 1));
static struct config_layer masked_grus[] = MASKED_PAIR("gru", BOOL_ATTRIBUTE("use_bias", 1));
static struct config_layer masked_simple_rnns[] = MASKED_PAIR("simple_rnn", BOOL_ATTRIBUTE("use_bias", 0));

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET(lstms, 4, 3),     NET(grus, 4, 3),     NET(simple_rnns, 4, 3),
	NET(both_lstm, 3, 2), NET(both_gru, 3, 2), NET(lstms, 1, 2),
	NET(masked_lstms),    NET(masked_grus),    NET(masked_simple_rnns),
};

int main(void)
{
	static const struct CMUnitTest tests[] = { OPS_TESTS };

	ops_open("recurrent", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
