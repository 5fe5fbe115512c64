/* SPDX-License-Identifier: Apache-2.0 */
/* Masks in a graph: which layers pass the mask of an embedding, end it or refuse it. ops_*.c have what they
 * compute. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define STEPS 6u
#define EMBEDDING(name, feature, masks)                                                    \
	NAMED("embedding", name, INPUTS_OF(1, feature),                                    \
	      ATTRIBUTES(3, INT_ATTRIBUTE("input_dim", 9), INT_ATTRIBUTE("output_dim", 4), \
			 BOOL_ATTRIBUTE("mask_zero", masks)))
#define HEADS     INT_ATTRIBUTE("num_heads", 1), INT_ATTRIBUTE("key_dim", 3)
#define RNN(more) ATTRIBUTES(2, INT_ATTRIBUTE("units", 4), BOOL_ATTRIBUTE("return_sequences", more))
#define MEAN      OP("global_average_pooling1d")

/* Builds a graph whose features are the two lists of ids "a" and "b", and pairs "c" of such. Returns the
 * code. */
static int build(struct config_layer *layers, uint32_t count, struct graph *graph, struct error *err)
{
	static struct config config;

	config = model_config(layers, count, 8, 2, 4);
	config.features = 5;
	for (uint32_t i = 2; i < 5; i++)
		config.feature[i] = (struct config_feature){ .name = i == 2   ? "a"
								     : i == 3 ? "b"
									      : "c",
							     .dtype = CONFIG_INT64,
							     .rank = i == 4 ? 2 : 1,
							     .shape = { STEPS, 2 } };
	return graph_build(&config, true, graph, err);
}

/* The tensor of the ids of a layer's mask, by its name; NULL: the layer has none. */
static const char *mask_of(const struct graph *graph, const char *layer)
{
	uint32_t i = 0;

	while (strcmp(graph_at(graph, i)->name, layer) != 0)
		i++;
	return graph_at(graph, i)->mask == GRAPH_NO_TENSOR ? NULL
							   : graph_at(graph, graph_at(graph, i)->mask)->name;
}

static void test_masks_pass_and_end(void **state)
{
	struct config_layer net[] = {
		EMBEDDING("e", "a", 1),
		NAMED("dense", "d",
		      ATTRIBUTES(2, INT_ATTRIBUTE("units", 4), TEXT_ATTRIBUTE("activation", "softmax"))),
		NAMED("layer_norm", "n"),
		NAMED("add", "s", INPUTS_OF(2, "n", "e")),
		NAMED("multi_head_attention", "t", INPUTS_OF(2, "s", "e"), ATTRIBUTES(2, HEADS)),
		NAMED("concatenate", "j", INPUTS_OF(2, "t", "s")),
		NAMED("lstm", "l", RNN(1)),
		EMBEDDING("free", "a", 0),
		NAMED("add", "half", INPUTS_OF(2, "free", "l")),
		NAMED("global_average_pooling1d", "p", INPUTS_OF(1, "l")),
		NAMED("flatten", "f", INPUTS_OF(1, "half")),
		NAMED("conv1d", "v", INPUTS_OF(1, "l"),
		      ATTRIBUTES(2, INT_ATTRIBUTE("filters", 2), INT_ATTRIBUTE("kernel_size", 2))),
		NAMED("flatten", "g"),
		NAMED("concatenate", "all", INPUTS_OF(3, "p", "f", "g")),
		NAMED("position_embedding", "o", INPUTS_OF(1, "l"),
		      ATTRIBUTES(1, INT_ATTRIBUTE("sequence_length", STEPS))),
		NAMED("permute", "turned", ATTRIBUTES(1, INTS_ATTRIBUTE("dims", 2, 2, 1))),
		NAMED("flatten", "h"),
		NAMED("concatenate", "whole", INPUTS_OF(2, "all", "h")),
		DENSE(2),
		SOFTMAX,
	};
	static const char *const passing[] = { "e", "d", "d_activation", "n", "s", "t", "j", "l", "o" };
	static const char *const free_ones[] = { "free", "half", "p",      "f", "v",
						 "g",    "all",  "turned", "h", "whole" };
	struct error err = { 0 };
	struct graph graph;

	(void)state;
	if (build(net, sizeof(net) / sizeof(*net), &graph, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		assert_string_equal(mask_of(&graph, passing[i]), "a");
	for (size_t i = 0; i < sizeof(free_ones) / sizeof(*free_ones); i++)
		assert_null(mask_of(&graph, free_ones[i]));
	graph_done(&graph);
}

static void test_masks_are_refused(void **state)
{
	static const struct {
		struct config_layer net[6];
		const char *words;
	} cases[] = {
		{ { EMBEDDING("e", "a", 1), OP("batch_norm"), MEAN, DENSE(2), SOFTMAX },
		  "layer 'batch_norm' (batch_norm): found 'e' with the mask of 'a', allowed: no mask" },
		{ { EMBEDDING("e", "a", 1), OP("softmax"), MEAN, DENSE(2), SOFTMAX },
		  "layer 'softmax' (softmax): found 'e' with the mask of 'a', allowed: no mask; as the "
		  "`activation`" },
		{ { EMBEDDING("e", "a", 1), EMBEDDING("f", "b", 1), OP("add", INPUTS_OF(2, "e", "f")), MEAN,
		    DENSE(2), SOFTMAX },
		  "layer 'add' (add): found 'e' with the mask of 'a' and 'f' with that of 'b', allowed: one "
		  "mask" },
		{ { EMBEDDING("e", "a", 1), EMBEDDING("f", "b", 1),
		    OP("multi_head_attention", INPUTS_OF(3, "e", "e", "f"), ATTRIBUTES(2, HEADS)), MEAN,
		    DENSE(2), SOFTMAX },
		  "found the value 'e' with the mask of 'a' and the key 'f' with that of 'b'" },
		{ { EMBEDDING("e", "a", 1),
		    OP("concatenate", INPUTS_OF(2, "e", "e"), ATTRIBUTES(1, INT_ATTRIBUTE("axis", 1))), MEAN,
		    DENSE(2), SOFTMAX },
		  "found 'e' of shape [6, 4], allowed beside 'e' of [6, 4]: with a mask, the last axis" },
		{ { EMBEDDING("e", "c", 1), OP("flatten"), DENSE(2), SOFTMAX },
		  "layer 'e' (embedding): found 'c' of shape [6, 2], allowed with mask_zero: [steps]" },
		{ { EMBEDDING("e", "a", 1), DENSE(2),
		    OP("dense",
		       ATTRIBUTES(2, INT_ATTRIBUTE("units", 2), TEXT_ATTRIBUTE("activation", "softmax"))) },
		  "with the mask of 'a', allowed as the last layer: one whose output has no mask" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct config_layer net[6];
		struct error err = { 0 };
		struct graph graph;
		uint32_t count = 0;

		memcpy(net, cases[i].net, sizeof(net));
		while (count < 6 && net[count].op)
			count++;
		assert_int_equal(build(net, count, &graph, &err), -EINVAL);
		if (!strstr(err.text, cases[i].words))
			fail_msg("found \"%s\"\nwanted \"%s\"", err.text, cases[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks_pass_and_end),
		cmocka_unit_test(test_masks_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
