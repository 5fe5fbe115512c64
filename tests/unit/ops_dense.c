/* SPDX-License-Identifier: Apache-2.0 */
/* Dense layers, element-wise functions, and layers that change shapes or join: see ops.h. */
#include "tests/unit/ops.h"

/* Each op has a layer before and after it, so that its input needs a gradient. Also the pairs that fuse. */
static struct config_layer just_dense[] = { DENSE(5), SOFTMAX };
static struct config_layer no_bias[] = { NO_BIAS(19), NO_BIAS(5), SOFTMAX };
static struct config_layer with_relu[] = { DENSE(35), RELU, DENSE(5), SOFTMAX };
static struct config_layer with_dropout[] = { DENSE(70), DROPOUT(0.4), DENSE(5), SOFTMAX };
static struct config_layer relu_dropout[] = { DENSE(70), RELU,     DROPOUT(0.25), DENSE(33),
					      RELU,      DENSE(5), SOFTMAX };
static struct config_layer dropout_relu[] = { DENSE(70), DROPOUT(0.25), RELU, DENSE(5), SOFTMAX };
static struct config_layer inner_softmax[] = { DENSE(9), SOFTMAX, DENSE(5), SOFTMAX };
static struct config_layer first_dropout[] = { DROPOUT(0.1), RELU, DENSE(5), SOFTMAX };
static struct config_layer rows_relu[] = { DENSE(5), RELU, SOFTMAX };
static struct config_layer rows_dropped[] = { DENSE(9), DROPOUT(0.3), OP("flatten"), DENSE(5), SOFTMAX };
static struct config_layer frozen[] = { DENSE(9), RELU, FROZEN(7), RELU, DENSE(5), SOFTMAX };
static struct config_layer frozen_below[] = { FROZEN(9), RELU, DENSE(7), RELU, DENSE(5), SOFTMAX };

#define FUNCTION(f, ...)                                          \
	{                                                         \
		DENSE(9), OP(f, ##__VA_ARGS__), DENSE(5), SOFTMAX \
	}
static struct config_layer sigmoids[] = FUNCTION("sigmoid");
static struct config_layer tanhs[] = FUNCTION("tanh");
static struct config_layer swishes[] = FUNCTION("swish");
static struct config_layer silus[] = FUNCTION("silu");
static struct config_layer gelus[] = FUNCTION("gelu");
static struct config_layer gelus_tanh[] = FUNCTION("gelu", ATTRIBUTES(1, BOOL_ATTRIBUTE("approximate", 1)));
static struct config_layer leaky[] = FUNCTION("leaky_relu");
static struct config_layer leaky_own[] =
	FUNCTION("leaky_relu", ATTRIBUTES(1, FLOAT_ATTRIBUTE("negative_slope", 0.05)));
static struct config_layer soft_functions[] = {
	DENSE(9), OP("elu", ATTRIBUTES(1, FLOAT_ATTRIBUTE("alpha", 0.7))),
	DENSE(8), OP("celu", ATTRIBUTES(1, FLOAT_ATTRIBUTE("alpha", 0.7))),
	DENSE(9), OP("selu"),
	DENSE(8), OP("exponential"),
	DENSE(9), OP("softplus"),
	DENSE(8), OP("softsign"),
	DENSE(9), OP("log_sigmoid"),
	DENSE(8), OP("mish"),
	DENSE(9), OP("tanh_shrink"),
	DENSE(8), OP("squareplus"),
	DENSE(5), SOFTMAX
};
static struct config_layer hard_functions[] = {
	DENSE(9), OP("hard_sigmoid"),
	DENSE(8), OP("hard_silu"),
	DENSE(9), OP("hard_swish"),
	DENSE(8), OP("hard_tanh"),
	DENSE(9), OP("soft_shrink", ATTRIBUTES(1, FLOAT_ATTRIBUTE("threshold", 0.1))),
	DENSE(8), OP("hard_shrink", ATTRIBUTES(1, FLOAT_ATTRIBUTE("threshold", 0.1))),
	DENSE(5), SOFTMAX
};
static struct config_layer residual[] = { NAMED("dense", "a", UNITS(9)),
					  RELU,
					  OP("dense", UNITS(9)),
					  OP("add", INPUTS_OF(3, "dense_1", "a", "a")),
					  DENSE(5),
					  SOFTMAX };
/* The gradient of `a` gets that of `c` before it gets that of the relu. */
static struct config_layer crossed[] = { NAMED("dense", "a", UNITS(9)),
					 NAMED("relu", "b", .attributes = 0),
					 NAMED("dense", "c", INPUTS_OF(1, "a"), UNITS(9)),
					 NAMED("dense", "d", INPUTS_OF(1, "b"), UNITS(9)),
					 OP("add", INPUTS_OF(2, "c", "d")),
					 DENSE(5),
					 SOFTMAX };
static struct config_layer joined[] = { NAMED("dense", "a", UNITS(9)),
					NAMED("dense", "b", INPUTS_OF(1, "sentence"), UNITS(4)),
					RELU,
					OP("concatenate", INPUTS_OF(3, "relu", "a", "sentence")),
					DENSE(5),
					SOFTMAX };
static struct config_layer shapes[] = {
	DENSE(6),
	OP("reshape", ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 3, 4, -1, 2))),
	NAMED("dense", "c", UNITS(3)),
	OP("dropout", ATTRIBUTES(1, FLOAT_ATTRIBUTE("rate", 0.3))),
	OP("concatenate", INPUTS_OF(2, "c", "dropout"), ATTRIBUTES(1, INT_ATTRIBUTE("axis", 2))),
	SOFTMAX,
	OP("flatten"),
	DENSE(5),
	SOFTMAX
};
/* The gradient of the view is that of its input, to which others add. */
static struct config_layer shared_view[] = { NAMED("dense", "a", UNITS(6)),
					     OP("reshape",
						ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 2, 3, 2))),
					     OP("dense", UNITS(2)),
					     OP("flatten"),
					     OP("add", INPUTS_OF(2, "flatten", "a")),
					     DENSE(5),
					     SOFTMAX };

static struct config_layer article[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
					 RELU,       DROPOUT(0.2), DENSE(5),     SOFTMAX };

/* To test a new op add a line here. */
static const struct net family_nets[] = {
	NET(just_dense),     NET(no_bias),
	NET(with_relu),      NET(with_dropout),
	NET(relu_dropout),   NET(dropout_relu),
	NET(inner_softmax),  NET(first_dropout),
	NET(rows_relu),      NET(rows_dropped, 3, 4),
	NET(frozen),         NET(frozen_below),
	NET(sigmoids),       NET(tanhs),
	NET(swishes),        NET(silus),
	NET(gelus),          NET(gelus_tanh),
	NET(leaky),          NET(leaky_own),
	NET(crossed),        NET(residual),
	NET(joined),         NET(shapes, 4, 3),
	NET(shared_view),    NET(article),
	NET(soft_functions), NET(hard_functions),
};

/* The launches of the article's network without its update and metrics: three products, the loss, both
 * gradients of each of the two narrow layers, and those of the parameters of the first layer. A GPU makes the
 * products of both narrow layers in one launch. */
static void test_fusion_shortens(void **state)
{
	const struct config config = model_config(article, 8, INPUTS, CLASSES, ROWS);
	struct harness h;

	(void)state;
	for (int cpu = 0; cpu < 2; cpu++) {
		harness_open(&h, gpu, &config, cpu);
		emit_training(&h, false);
		assert_int_equal(h.plan.launches, 23);
		plan_fuse(&h.plan);
		assert_int_equal(h.plan.launches, h.plan.cpu ? 7 : 6);
		harness_close(&h);
	}
}

/* Writes the gradients of all parameters of the article's network to `out`, one behind another. */
static uint64_t run_article(bool cpu, bool fuse, float *out)
{
	const struct config config = model_config(article, 8, INPUTS, CLASSES, ROWS);
	struct reference reference;
	struct harness h;
	uint64_t count = 0;

	harness_open(&h, gpu, &config, cpu);
	emit_training(&h, fuse);
	harness_bind(&h, program);
	run_plan(&h, &reference);
	for (uint32_t i = 0; i < h.graph.tensors; i++) {
		const struct tensor *tensor = graph_at(&h.graph, i);

		if (tensor->role != ROLE_PARAMETER)
			continue;
		assert_true(count + tensor->elements <= NUMBERS_MAX);
		harness_get(&h, tensor->gradient, out + count);
		count += tensor->elements;
	}
	reference_close(&reference);
	harness_close(&h);
	return count;
}

static void test_fusion_keeps_the_bits(void **state)
{
	static float fused[NUMBERS_MAX], not_fused[NUMBERS_MAX];

	(void)state;
	for (int cpu = 0; cpu < 2; cpu++) {
		const uint64_t count = run_article(cpu, true, fused);

		assert_int_equal(run_article(cpu, false, not_fused), count);
		assert_memory_equal(fused, not_fused, count * sizeof(*fused));
	}
}

/* Layers below the lowest trainable parameter have no backward pass; a frozen parameter has no gradient
 * and no slot. */
static void test_freeze_cuts(void **state)
{
	static struct config_layer net[] = {
		DENSE(9), RELU, DROPOUT(0.1), DENSE(7), RELU, DENSE(5), SOFTMAX
	};
	static struct config_layer cut[] = {
		FROZEN(9), RELU, DROPOUT(0.1), DENSE(7), RELU, DENSE(5), SOFTMAX
	};
	const struct config whole = model_config(net, 7, INPUTS, CLASSES, ROWS),
			    frozen_one = model_config(cut, 7, INPUTS, CLASSES, ROWS);
	struct harness h;
	uint32_t launches;

	(void)state;
	harness_open(&h, gpu, &whole, true);
	emit_training(&h, false);
	launches = h.plan.launches;
	harness_close(&h);
	harness_open(&h, gpu, &frozen_one, true);
	emit_training(&h, false);
	/* Five launches less: dW and db of the first dense layer; dx of relu, dropout and the second dense
	 * layer. */
	assert_int_equal(h.plan.launches, launches - 5);
	assert_int_equal(h.graph.frozen, INPUTS * 9 + 9);
	for (uint32_t i = 0; i < h.graph.tensors; i++) {
		const struct tensor *tensor = graph_at(&h.graph, i);

		assert_false(tensor->role == ROLE_SLOT && strstr(tensor->name, "/dense/"));
		assert_false(tensor->role == ROLE_GRADIENT && !strcmp(tensor->name, "dropout"));
		/* After the range that the optimizer's single launch covers. */
		if (tensor->role == ROLE_PARAMETER && !tensor->trainable)
			assert_true(tensor->offset >=
				    graph_at(&h.graph, h.graph.slot_region[1])->offset +
					    graph_at(&h.graph, h.graph.slot_region[1])->bytes);
	}
	harness_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TESTS,
		cmocka_unit_test(test_fusion_shortens),
		cmocka_unit_test(test_fusion_keeps_the_bits),
		cmocka_unit_test(test_freeze_cuts),
	};

	ops_open("dense", family_nets, sizeof(family_nets) / sizeof(*family_nets));
	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
