/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every op and loss: its float64 reference against finite differences, its kernels against the reference,
 * fused and not, and the kernels of both device kinds.
 */
#include "tests/reference.h"

#include "model/random.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

#define ROWS    13u
#define INPUTS  21u
#define CLASSES 5u

static struct gpu *gpu;
static struct gpu_program *program;
static float input[ROWS * INPUTS];
static int64_t label[ROWS * CLASSES];
static uint8_t empty[ROWS];

#define NO_BIAS(n)                                                                       \
	{                                                                                \
		.op = "dense", .name = "", .attributes = 2, .attribute = {               \
			INT_ATTRIBUTE("units", n),                                       \
			{ .key = "use_bias", .type = ATTRIBUTE_BOOL, .i = 0, .line = 7 } \
		}                                                                        \
	}

/* Each op with something before and behind it, so that its input needs a gradient; and the pairs that fuse.
 */
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

#define NET(layers)                                                 \
	{                                                           \
#layers, layers, sizeof(layers) / sizeof(*(layers)) \
	}
static const struct {
	const char *label;
	struct config_layer *layers;
	uint32_t count;
} nets[] = {
	NET(just_dense),   NET(no_bias),       NET(with_relu),     NET(with_dropout), NET(relu_dropout),
	NET(dropout_relu), NET(inner_softmax), NET(first_dropout), NET(rows_relu),
};
#define NETS (sizeof(nets) / sizeof(*nets))

static struct config net_config(size_t n)
{
	return model_config(nets[n].layers, nets[n].count, INPUTS, CLASSES, ROWS);
}

static const struct model_batch batch = {
	.input = input, .label = label, .empty = empty, .rows = ROWS, .valid_rows = ROWS - 2, .first_row = 500
};

static void fill_parameters(const struct graph *graph, uint32_t tensor, float *out)
{
	uint64_t seed = 100 + tensor;

	for (uint64_t i = 0; i < graph_at(graph, tensor)->elements; i++)
		out[i] = (float)noise(&seed) * 0.5f;
}

static void fill_reference(struct reference *reference)
{
	float numbers[4096];

	for (uint32_t i = 0; i < reference->graph->tensors; i++) {
		if (graph_at(reference->graph, i)->role != ROLE_PARAMETER)
			continue;
		fill_parameters(reference->graph, i, numbers);
		for (uint64_t e = 0; e < graph_at(reference->graph, i)->elements; e++)
			reference->value[i][e] = (double)numbers[e];
	}
}

/* ---- The references against finite differences ---- */

static double loss_of(struct reference *reference)
{
	reference_pass(reference, &batch, true, 3);
	return reference->loss_sum / batch.valid_rows;
}

static void differentiate(struct reference *reference, uint32_t tensor, uint64_t element, const char *net)
{
	double *at = &reference->value[tensor][element];
	const double kept = *at, step = 1e-6;
	double gradient, up, down;

	(void)loss_of(reference);
	gradient = reference->gradient[tensor][element];
	*at = kept + step;
	up = loss_of(reference);
	*at = kept - step;
	down = loss_of(reference);
	*at = kept;
	if (fabs((up - down) / (2 * step) - gradient) > 1e-7)
		fail_msg("%s: %s[%lu]: gradient %g, difference %g", net,
			 graph_at(reference->graph, tensor)->name, element, gradient,
			 (up - down) / (2 * step));
}

static void test_references_match_differences(void **state)
{
	(void)state;
	for (size_t n = 0; n < NETS; n++) {
		const struct config config = net_config(n);
		struct reference reference;
		struct graph graph;
		struct error err = { 0 };

		assert_int_equal(graph_build(&config, true, &graph, &err), 0);
		reference_open(&reference, &graph);
		fill_reference(&reference);
		for (uint32_t i = 0; i < graph.tensors; i++)
			for (uint64_t e = 0;
			     graph_at(&graph, i)->role == ROLE_PARAMETER && e < graph_at(&graph, i)->elements;
			     e += 7)
				differentiate(&reference, i, e, nets[n].label);
		reference_close(&reference);
		graph_done(&graph);
	}
}

/* ---- The kernels against the references ---- */

static void emit_training(struct harness *h, bool fuse)
{
	const uint32_t nodes = h->graph.nodes;

	for (uint32_t i = 0; i + 1 < nodes; i++)
		h->graph.node[i].op->forward(&h->plan, &h->graph.node[i], true);
	h->graph.loss->emit(&h->plan, true);
	for (uint32_t i = nodes - 1; i-- > 0;)
		h->graph.node[i].op->backward(&h->plan, &h->graph.node[i]);
	if (fuse)
		plan_fuse(&h->plan);
}

static bool is_written(const struct plan *plan, uint32_t tensor)
{
	for (uint32_t i = 0; i < plan->launches; i++)
		for (uint32_t j = 0; j < plan->launch[i].arguments; j++)
			if ((plan->launch[i].argument[j].kind == ARGUMENT_OUT ||
			     plan->launch[i].argument[j].kind == ARGUMENT_INOUT) &&
			    plan->launch[i].argument[j].tensor == tensor)
				return true;
	return false;
}

static void compare(struct harness *h, uint32_t tensor, const double *wanted, const char *label_of_net)
{
	const struct tensor *what = graph_at(&h->graph, tensor);
	const uint64_t count = what->elements * (what->rows ? ROWS : 1);
	float found[4096];

	harness_get(h, tensor, found);
	for (uint64_t e = 0; e < count; e++)
		if (fabs((double)found[e] - wanted[e]) > 2e-6 + 4e-6 * fabs(wanted[e]))
			fail_msg("%s: %s %s[%lu] is %g, not %g", label_of_net,
				 what->role == ROLE_GRADIENT ? "d" : "", what->name, e, (double)found[e],
				 wanted[e]);
}

/* Values and gradients of every tensor that the plan still makes. */
static void run_net(size_t n, bool cpu, bool fuse)
{
	const struct config config = net_config(n);
	struct plan_values values = { .rows = ROWS,
				      .valid_rows = (int32_t)batch.valid_rows,
				      .row_weight = 1.0f / (float)batch.valid_rows,
				      .first_row = 500,
				      .step = 3 };
	struct reference reference;
	struct harness h;
	struct error err = { 0 };
	float numbers[4096];
	uint32_t seen = 0;

	harness_open(&h, gpu, &config, cpu);
	emit_training(&h, fuse);
	harness_bind(&h, program);
	reference_open(&reference, &h.graph);
	fill_reference(&reference);
	(void)loss_of(&reference);
	for (uint32_t i = 0; i < h.graph.tensors; i++)
		if (graph_at(&h.graph, i)->role == ROLE_PARAMETER) {
			fill_parameters(&h.graph, i, numbers);
			harness_put(&h, i, numbers);
		}
	harness_must(gpu_buffer_create(gpu, sizeof(input), &values.input, &err), &err);
	harness_must(gpu_buffer_create(gpu, sizeof(label), &values.label, &err), &err);
	harness_must(gpu_buffer_create(gpu, sizeof(empty), &values.empty, &err), &err);
	harness_must(gpu_write(gpu, values.input, 0, input, sizeof(input), true, &err), &err);
	harness_must(gpu_write(gpu, values.label, 0, label, sizeof(label), true, &err), &err);
	harness_must(gpu_write(gpu, values.empty, 0, empty, sizeof(empty), true, &err), &err);
	harness_run(&h, &values);
	for (uint32_t i = 0; i < h.graph.tensors; i++) {
		const struct tensor *what = graph_at(&h.graph, i);

		if (what->role == ROLE_ACTIVATION && is_written(&h.plan, i))
			compare(&h, i, reference.value[i], nets[n].label);
		if (what->gradient != GRAPH_NO_TENSOR && is_written(&h.plan, what->gradient)) {
			compare(&h, what->gradient, reference.gradient[i], nets[n].label);
			seen += what->role == ROLE_PARAMETER;
		}
	}
	assert_true(seen >= 1);
	gpu_buffer_free(values.input);
	gpu_buffer_free(values.label);
	gpu_buffer_free(values.empty);
	reference_close(&reference);
	harness_close(&h);
}

static void test_kernels_match_references(void **state)
{
	(void)state;
	for (size_t n = 0; n < NETS; n++) {
		run_net(n, true, false);
		run_net(n, true, true);
		run_net(n, false, true);
	}
}

/* Fused and not, the article's network is 13 launches a step less its update and metrics; the plain one 23.
 */
static void test_fusion_shortens(void **state)
{
	static struct config_layer article[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
						 RELU,       DROPOUT(0.2), DENSE(5),     SOFTMAX };
	const struct config config = model_config(article, 8, INPUTS, CLASSES, ROWS);
	struct harness h;

	(void)state;
	harness_open(&h, gpu, &config, true);
	emit_training(&h, false);
	assert_int_equal(h.plan.launches, 25);
	plan_fuse(&h.plan);
	assert_int_equal(h.plan.launches, 11);
	harness_close(&h);
}

/* Several consumers: the first gradient store writes, later ones add, for every op that can be one. */
static void test_later_gradients_add(void **state)
{
	static const struct config_layer *const ops[4] = { &just_dense[0], &with_relu[1], &with_dropout[1],
							   &inner_softmax[1] };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct config_layer two[] = { DENSE(5), *ops[i], SOFTMAX };
		const struct config config = model_config(two, 3, INPUTS, CLASSES, ROWS);
		struct plan_values values = { .rows = ROWS, .first_row = 500, .step = 3 };
		struct harness h;
		float before[ROWS * CLASSES], once[ROWS * CLASSES], dy[ROWS * CLASSES], w[25];
		uint64_t seed = 5;

		for (uint32_t e = 0; e < ROWS * CLASSES; e++) {
			before[e] = (float)noise(&seed);
			dy[e] = (float)noise(&seed);
		}
		for (uint32_t e = 0; e < 25; e++)
			w[e] = (float)noise(&seed);
		harness_open(&h, gpu, &config, true);
		const struct node *node = &h.graph.node[1];
		const uint32_t dx = graph_at(&h.graph, h.graph.node[0].output)->gradient;

		node->op->backward(&h.plan, node);
		node->op->backward(&h.plan, node);
		harness_bind(&h, program);
		harness_put(&h, graph_at(&h.graph, node->output)->gradient, dy);
		harness_put(&h, node->output, before);
		if (node->parameters)
			harness_put(&h, node->parameter[0], w);
		harness_run(&h, &values);
		harness_get(&h, dx, before);
		h.plan.launches /= 2;
		harness_run(&h, &values);
		harness_get(&h, dx, once);
		h.plan.launches *= 2;
		for (uint32_t e = 0; e < ROWS * CLASSES; e++)
			assert_near(before[e], 2 * (double)once[e], 1e-6);
		harness_close(&h);
	}
}

/* Random123's known answers for philox4x32-10. */
static void test_philox(void **state)
{
	static const struct {
		uint32_t counter[4];
		uint64_t key;
		uint32_t word[4];
	} cases[] = {
		{ { 0, 0, 0, 0 }, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { ~0u, ~0u, ~0u, ~0u }, ~UINT64_C(0), { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
		  UINT64_C(0x299f31d0a4093822),
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct philox words = philox(cases[i].counter, cases[i].key);

		assert_memory_equal(words.word, cases[i].word, sizeof(words.word));
	}
}

static void test_initializers(void **state)
{
	const uint64_t shape[] = { 100, 50 };
	const double limit = sqrt(6.0 / 150);
	float first[5000], again[5000], other[5000];
	double sum = 0, squares = 0;

	(void)state;
	initializer_fill("glorot_uniform", 44, "dense/kernel", 2, shape, 5000, first);
	initializer_fill("glorot_uniform", 44, "dense/kernel", 2, shape, 5000, again);
	initializer_fill("glorot_uniform", 44, "dense_1/kernel", 2, shape, 5000, other);
	assert_memory_equal(first, again, sizeof(first));
	assert_memory_not_equal(first, other, sizeof(first));
	for (uint32_t i = 0; i < 5000; i++) {
		assert_true(fabs((double)first[i]) <= limit);
		sum += (double)first[i];
		squares += (double)first[i] * (double)first[i];
	}
	assert_near(sum / 5000, 0, limit / 30);
	assert_near(squares / 5000, limit * limit / 3, limit * limit / 30);
	initializer_fill("zeros", 44, "dense/bias", 1, shape, 100, first);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(first[i] == 0);
}

static int open_all(void **state)
{
	struct error err = { 0 };

	(void)state;
	gpu = open_device();
	fill_batch(3, ROWS, INPUTS, CLASSES, input, label);
	empty[2] = empty[9] = 1;
	return kernels_build(gpu, &program, &err);
}

static int close_all(void **state)
{
	(void)state;
	gpu_program_free(program);
	close_device(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_references_match_differences),
		cmocka_unit_test(test_kernels_match_references),
		cmocka_unit_test(test_fusion_shortens),
		cmocka_unit_test(test_later_gradients_add),
		cmocka_unit_test(test_philox),
		cmocka_unit_test(test_initializers),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
