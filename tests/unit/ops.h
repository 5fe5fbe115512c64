/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the tests of layers, which are split by family. For each net of a family: compares every op's
 * float64 reference with finite differences, and its kernels with the reference, fused and not fused, for
 * both kinds of devices. The program of a family has an array of nets, and a main() with ops_open() and
 * OPS_TESTS.
 */
#pragma once

#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/device.h"

#define ROWS       13u
#define INPUTS     21u
#define CLASSES    5u
#define INPUTS_MAX 2048u
/* About so many numbers of a parameter are varied; each costs three passes of the net. */
#define DIFFERENCES 24u
#define NUMBERS_MAX (ROWS * INPUTS_MAX)
#define IDS         6u
#define TOKENS_MAX  9u
#define TABLE       11u
#define WORDS       37u
/* A picture of a row: [HEIGHT, WIDTH, CHANNELS]. */
#define HEIGHT   6u
#define WIDTH    7u
#define CHANNELS 3u
#define PIXELS   (HEIGHT * WIDTH * CHANNELS)

static int precision; /* precision of every net: enum config_precision */
static float input[NUMBERS_MAX];
static int64_t label[ROWS * CLASSES];
static uint8_t empty[ROWS];
static uint8_t pixels[ROWS * PIXELS];
static int64_t ids[ROWS * IDS], words[ROWS * WORDS], tokens[ROWS * TOKENS_MAX], splits[ROWS + 1];

#define UNITS(n)  ATTRIBUTES(1, INT_ATTRIBUTE("units", n))
#define FROZEN(n) OP("dense", ATTRIBUTES(2, INT_ATTRIBUTE("units", n), BOOL_ATTRIBUTE("trainable", 0)))
#define NO_BIAS(n)                                                         \
	{                                                                  \
		.op = "dense", .name = "", .attributes = 2, .attribute = { \
			INT_ATTRIBUTE("units", n),                         \
			BOOL_ATTRIBUTE("use_bias", 0)                      \
		}                                                          \
	}

/* A net of a family; the input is [INPUTS] if no shape is given. The allowed difference to the float64
 * reference is `tolerance` times the number, and half of `tolerance` at zero. */
#define NET(layers, ...) NET_WITHIN(0, layers, __VA_ARGS__)
#define NET_WITHIN(most, layers_of, ...)                                                                     \
	{                                                                                                    \
		.label = #layers_of, .layers = layers_of, .count = sizeof(layers_of) / sizeof(*(layers_of)), \
		.shape = { __VA_ARGS__ }, .tolerance = most,                                                 \
	}
struct net {
	const char *label;
	struct config_layer *layers;
	uint32_t count;
	uint64_t shape[CONFIG_SHAPE_MAX];
	double tolerance; /* 0: the default, 4e-6; larger for nets with long sums */
};

/* The ops of each family, and the family of this program. */
static const struct family {
	const char *name, *ops;
} families[] = {
	{ "block", " relu6 subtract multiply average maximum minimum dot spatial_dropout2d zero_padding2d "
		   "preprocess_input permute " },
	{ "dense",
	  " dense relu sigmoid tanh swish silu gelu leaky_relu elu celu selu exponential softplus softsign "
	  "hard_sigmoid hard_silu hard_swish hard_tanh log_sigmoid mish soft_shrink hard_shrink tanh_shrink "
	  "squareplus softmax dropout flatten reshape add "
	  "concatenate " },
	{ "norm", " batch_norm layer_norm rms_normalization unit_normalization normalization " },
	{ "recurrent", " lstm gru simple_rnn " },
	{ "attention", " multi_head_attention " },
	{ "image",
	  " conv1d depthwise_conv1d zero_padding1d max_pooling1d average_pooling1d global_max_pooling1d "
	  "global_average_pooling1d conv2d depthwise_conv2d max_pooling2d average_pooling2d "
	  "global_max_pooling2d "
	  "global_average_pooling2d " },
	{ "embedding", " embedding embedding_bag position_embedding cast " },
	{ "picture", " rescaling random_flip random_rotation random_zoom random_translation random_shear "
		     "random_contrast random_brightness random_crop center_crop " },
};
static const struct net *nets; /* nets of the family of layers that this file tests */
static size_t net_count;
static const char *family_name;

static struct config net_config(size_t n)
{
	struct config config = model_config(nets[n].layers, nets[n].count, INPUTS, CLASSES, ROWS);
	uint64_t elements = 1;

	for (uint32_t i = 0; i < CONFIG_SHAPE_MAX && nets[n].shape[i]; i++) {
		config.feature[0].rank = i + 1;
		config.feature[0].shape[i] = nets[n].shape[i];
		elements *= nets[n].shape[i];
	}
	assert_true(elements <= INPUTS_MAX);
	config.model.precision = precision;
	config.features = 6;
	config.feature[2] =
		(struct config_feature){ .name = "ids", .dtype = CONFIG_INT64, .rank = 1, .shape = { IDS } };
	config.feature[3] =
		(struct config_feature){ .name = "tokens", .dtype = CONFIG_INT64, .values_max = TOKENS_MAX };
	config.feature[4] = (struct config_feature){
		.name = "pixels", .dtype = CONFIG_PICTURE, .rank = 3, .shape = { HEIGHT, WIDTH, CHANNELS }
	};
	config.feature[5] = (struct config_feature){
		.name = "words", .dtype = CONFIG_INT64, .rank = 1, .shape = { WORDS }
	};
	return config;
}

static const struct {
	const char *name;
	const void *data;
	uint64_t bytes;
} columns[] = {
	{ "sentence", input, sizeof(input) },        { "ids", ids, sizeof(ids) },
	{ "tokens/splits", splits, sizeof(splits) }, { "tokens/values", tokens, sizeof(tokens) },
	{ "pixels", pixels, sizeof(pixels) },        { "words", words, sizeof(words) },
};

static size_t column_of(const struct graph *graph, uint32_t i)
{
	size_t c = 0;

	while (strcmp(columns[c].name, graph_at(graph, graph->input[i])->name) != 0)
		c++;
	return c;
}

static struct model_batch batch_of(const struct graph *graph)
{
	struct model_batch batch = {
		.label = label, .empty = empty, .rows = ROWS, .valid_rows = ROWS - 2, .first_row = 500
	};

	for (uint32_t i = 0; i < graph->inputs; i++)
		batch.input[i] = columns[column_of(graph, i)].data;
	return batch;
}

/* State such as a moving variance is positive. */
static void fill_parameters(const struct graph *graph, uint32_t tensor, float *out)
{
	uint64_t seed = 100 + tensor;

	assert_true(graph_at(graph, tensor)->elements <= NUMBERS_MAX);
	for (uint64_t i = 0; i < graph_at(graph, tensor)->elements; i++) {
		out[i] = (float)noise(&seed) * 0.5f;
		if (graph_at(graph, tensor)->role == ROLE_STATE)
			out[i] = fabsf(out[i]) + 0.1f;
	}
}

static void fill_reference(struct reference *reference)
{
	static float numbers[NUMBERS_MAX];

	for (uint32_t i = 0; i < reference->graph->tensors; i++) {
		if (graph_at(reference->graph, i)->role != ROLE_PARAMETER &&
		    graph_at(reference->graph, i)->role != ROLE_STATE)
			continue;
		fill_parameters(reference->graph, i, numbers);
		for (uint64_t e = 0; e < graph_at(reference->graph, i)->elements; e++)
			reference->value[i][e] = (double)numbers[e];
	}
}

/* ---- The references against finite differences ---- */

static double loss_of(struct reference *reference)
{
	const struct model_batch batch = batch_of(reference->graph);

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
	for (size_t n = 0; n < net_count; n++) {
		const struct config config = net_config(n);
		struct reference reference;
		struct graph graph;
		struct error err = { 0 };

		assert_int_equal(graph_build(&config, true, &graph, &err), 0);
		reference_open(&reference, &graph);
		fill_reference(&reference);
		for (uint32_t i = 0; i < graph.tensors; i++)
			for (uint64_t e = 0;
			     graph_at(&graph, i)->role == ROLE_PARAMETER && graph_at(&graph, i)->trainable &&
			     e < graph_at(&graph, i)->elements;
			     e += graph_at(&graph, i)->elements / DIFFERENCES + 7)
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
		op_emit_forward(&h->plan, &h->graph.node[i], true);
	loss_emit(&h->plan, true);
	for (uint32_t i = nodes - 1; i-- > 0;)
		op_emit_backward(&h->plan, &h->graph.node[i]);
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

/* The largest allowed norm of the difference, relative to the norm of the reference, with bfloat16 and with
 * float16. In 16 bits a number may fall on the other side of a relu, its threshold or of a maximum than in
 * the reference, and a batch norm divides by a small difference. */
static const struct {
	const char *net;
	double most[2];
} stored_limits[] = {
	{ "conv_wide", { 0.12, 0.07 } },
	{ "sequences", { 0.12, 0.03 } },
	{ "sequences_global", { 0.12, 0.03 } },
	{ "soft_functions", { 0.04, 4e-3 } },
	{ "hard_functions", { 0.3, 0.05 } },
	{ "conv_dilated", { 0.06, 0.03 } },
	{ "pool_branches", { 0.1, 0.01 } },
	{ "conv_lines", { 0.08, 0.03 } },
	{ "conv_lines_same", { 0.08, 0.03 } },
	{ "cross", { 0.04, 4e-3 } },
	{ "self", { 0.016, 4e-3 } },
	{ "twice", { 0.016, 4e-3 } },
	{ "pool_crossed", { 0.15, 0.1 } },
	{ "convs", { 0.04, 2e-3 } },
	{ "conv_quads", { 0.04, 4e-3 } },
	{ "conv_quads_wide", { 0.06, 0.03 } },
	{ "conv_quads_back", { 0.04, 4e-3 } },
	{ "dropout_relu", { 0.07, 2e-3 } },
	{ "conv_residual", { 0.03, 2e-3 } },
	{ "batch_norms", { 0.12, 2e-3 } },
	{ "rescaled_pixels", { 0.12, 0.02 } },
	{ "relu_thresholds", { 0.3, 0.05 } },
	{ "depthwise_lines", { 0.07, 4e-3 } },
	{ "batch_norm_wide", { 0.12, 4e-3 } },
	{ "article", { 0.12, 4e-3 } },
	{ "masked", { 0.04, 0.01 } },
	{ "masked_queries", { 0.06, 0.01 } },
	{ "masked_causal", { 0.04, 0.01 } },
	{ "masked_mean", { 0.3, 4e-3 } },
	{ "", { 0.016, 2e-3 } },
};

static double stored_limit(const struct net *net)
{
	size_t i = 0;

	while (stored_limits[i].net[0] && strcmp(stored_limits[i].net, net->label) != 0)
		i++;
	return stored_limits[i].most[precision == PRECISION_MIXED_FLOAT16];
}

/* Compares by the norm of the difference. Gradients are scaled here; the launches of the optimizer unscale
 * them. */
static void compare_stored(const struct tensor *what, const float *found, const double *wanted,
			   uint64_t count, const struct net *net)
{
	const double scale = what->role == ROLE_GRADIENT && precision == PRECISION_MIXED_FLOAT16
				     ? (double)LOSS_SCALE_INITIAL
				     : 1;
	double square = 0, difference = 0;

	for (uint64_t e = 0; e < count; e++) {
		square += wanted[e] * wanted[e];
		difference += pow((double)found[e] / scale - wanted[e], 2);
	}
	/* A sum that should be zero, as for the bias before a batch norm, is the rounding error of its
	 * terms. */
	if (!(sqrt(difference) <= (square > 1e-18 ? stored_limit(net) * sqrt(square) : 1e-2)))
		fail_msg("%s, %d: %s %s: norm %g, of the difference %g", net->label, precision,
			 what->role == ROLE_GRADIENT ? "d" : "", what->name, sqrt(square), sqrt(difference));
}

/* `more`: what the tensor holds besides the reference's value. */
static void compare(struct harness *h, uint32_t tensor, const double *wanted, double more,
		    const struct net *net)
{
	const struct tensor *what = graph_at(&h->graph, tensor);
	const uint64_t count = what->elements * (what->rows ? ROWS : 1);
	const double tolerance = net->tolerance > 0 ? net->tolerance : 4e-6;
	static float found[NUMBERS_MAX];

	assert_true(count <= NUMBERS_MAX);
	harness_get_float(h, tensor, found);
	if (precision != PRECISION_FLOAT32) {
		compare_stored(what, found, wanted, count, net);
		return;
	}
	for (uint64_t e = 0; e < count; e++)
		if (!(fabs((double)found[e] - wanted[e] - more) <=
		      tolerance / 2 + tolerance * fabs(wanted[e])))
			fail_msg("%s: %s %s[%lu] is %g, not %g", net->label,
				 what->role == ROLE_GRADIENT ? "d" : "", what->name, e, (double)found[e],
				 wanted[e] + more);
}

static bool is_view(const struct graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (graph->node[i].output == tensor)
			return graph->node[i].op->view;
	return false;
}

/* Gives the same parameters and batch to the device and to the reference, and runs the plan. */
static void run_plan(struct harness *h, struct reference *reference)
{
	struct plan_values values = { .rows = ROWS,
				      .valid_rows = ROWS - 2,
				      .row_weight = 1.0f / (ROWS - 2),
				      .first_row = 500,
				      .step = 3 };
	static float numbers[NUMBERS_MAX];
	struct error err = { 0 };

	reference_open(reference, &h->graph);
	fill_reference(reference);
	(void)loss_of(reference);
	for (uint32_t i = 0; i < h->graph.tensors; i++)
		if (graph_at(&h->graph, i)->initializer && graph_at(&h->graph, i)->arena == ARENA_STATE) {
			fill_parameters(&h->graph, i, numbers);
			harness_put(h, i, numbers);
		}
	for (uint32_t i = 0; i < h->graph.inputs; i++) {
		const size_t c = column_of(&h->graph, i);

		harness_must(gpu_buffer_create(gpu, columns[c].bytes, &values.input[i], &err), &err);
		harness_must(
			gpu_write(gpu, values.input[i], 0, columns[c].data, columns[c].bytes, true, &err),
			&err);
	}
	harness_must(gpu_buffer_create(gpu, sizeof(label), &values.label, &err), &err);
	harness_must(gpu_buffer_create(gpu, sizeof(empty), &values.empty, &err), &err);
	harness_must(gpu_write(gpu, values.label, 0, label, sizeof(label), true, &err), &err);
	harness_must(gpu_write(gpu, values.empty, 0, empty, sizeof(empty), true, &err), &err);
	harness_run(h, &values);
	for (uint32_t i = 0; i < h->graph.inputs; i++)
		gpu_buffer_free(values.input[i]);
	gpu_buffer_free(values.label);
	gpu_buffer_free(values.empty);
}

/* Compares values and gradients of every tensor that the plan computes. */
static void run_net(size_t n, bool cpu, bool fuse)
{
	const struct config config = net_config(n);
	struct reference reference;
	struct harness h;
	uint32_t seen = 0;

	harness_open(&h, gpu, &config, cpu);
	emit_training(&h, fuse);
	harness_bind(&h, program);
	run_plan(&h, &reference);
	for (uint32_t i = 0; i < h.graph.tensors; i++) {
		const struct tensor *what = graph_at(&h.graph, i);

		if ((what->role == ROLE_ACTIVATION || what->role == ROLE_STATE) && is_written(&h.plan, i))
			compare(&h, i, reference.value[i], 0, &nets[n]);
		if (what->gradient != GRAPH_NO_TENSOR && is_written(&h.plan, what->gradient) &&
		    !is_view(&h.graph, i)) {
			compare(&h, what->gradient, reference.gradient[i], 0, &nets[n]);
			seen += what->role == ROLE_PARAMETER;
		}
	}
	assert_true(seen >= 1);
	reference_close(&reference);
	harness_close(&h);
}

static void run_nets(void)
{
	for (size_t n = 0; n < net_count; n++) {
		run_net(n, true, false);
		run_net(n, true, true);
		run_net(n, false, true);
	}
}

static void test_kernels_match_references(void **state)
{
	(void)state;
	run_nets();
}

/* Compares numbers stored in 16 bits. */
static void test_stored_kernels_match_references(void **state)
{
	static const enum dtype storage[] = {
		[PRECISION_MIXED_BFLOAT16] = DTYPE_BF16, [PRECISION_MIXED_FLOAT16] = DTYPE_F16
	};
	struct gpu_program *plain = program;
	struct error err = { 0 };

	(void)state;
	for (precision = PRECISION_MIXED_BFLOAT16; precision <= PRECISION_MIXED_FLOAT16; precision++) {
		harness_must(kernels_build(gpu, storage[precision], NULL, 0, &program, &err), &err);
		run_nets();
		gpu_program_free(program);
	}
	program = plain;
	precision = PRECISION_FLOAT32;
}

/* Another consumer has already written the gradient: each op must add to it. */
static void run_adding(size_t n, uint32_t node, uint32_t which)
{
	const struct config config = net_config(n);
	static float half[NUMBERS_MAX];
	struct reference reference;
	struct harness h;
	uint32_t value, dx;

	harness_open(&h, gpu, &config, true);
	value = h.graph.node[node].input[which];
	dx = graph_at(&h.graph, value)->gradient;
	if (dx != GRAPH_NO_TENSOR && !is_view(&h.graph, value) && !h.graph.node[node].op->view) {
		for (uint32_t i = 0; i + 1 < h.graph.nodes; i++)
			op_emit_forward(&h.plan, &h.graph.node[i], true);
		loss_emit(&h.plan, true);
		h.plan.gradient_written[dx] = true;
		for (uint32_t i = h.graph.nodes - 1; i-- > 0;)
			op_emit_backward(&h.plan, &h.graph.node[i]);
		harness_bind(&h, program);
		for (uint32_t i = 0; i < NUMBERS_MAX; i++)
			half[i] = 0.5f;
		harness_put(&h, dx, half);
		run_plan(&h, &reference);
		compare(&h, dx, reference.gradient[value], 0.5, &nets[n]);
		reference_close(&reference);
	}
	harness_close(&h);
}

static void test_later_gradients_add(void **state)
{
	(void)state;
	for (size_t n = 0; n < net_count; n++) {
		const struct config config = net_config(n);
		struct error err = { 0 };
		struct graph graph;

		assert_int_equal(graph_build(&config, true, &graph, &err), 0);
		for (uint32_t i = 0; i + 1 < graph.nodes; i++)
			for (uint32_t k = 0; k < graph.node[i].inputs; k++)
				run_adding(n, i, k);
		graph_done(&graph);
	}
}

static bool is_in_a_net(const char *op)
{
	for (size_t n = 0; n < net_count; n++)
		for (uint32_t l = 0; l < nets[n].count; l++)
			if (!strcmp(nets[n].layers[l].op, op))
				return true;
	return false;
}

/* Every row of the table is in a family, and every op of this family is in one of its nets. */
static void test_every_op_is_here(void **state)
{
	(void)state;
	for (uint32_t i = 0; op_at(i); i++) {
		const char *family = NULL;
		char name[64];

		(void)snprintf(name, sizeof(name), " %s ", op_at(i)->name);
		for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++)
			if (strstr(families[f].ops, name))
				family = families[f].name;
		if (!family)
			fail_msg("%s: in no family", op_at(i)->name);
		if (family && !strcmp(family, family_name) && !is_in_a_net(op_at(i)->name))
			fail_msg("%s: in no net", op_at(i)->name);
		if (!op_at(i)->export)
			fail_msg("%s: no form for other tools", op_at(i)->name);
	}
}

static int open_all(void **state)
{
	uint64_t seed = 7;

	(void)state;
	open_kernels();
	for (uint32_t i = 0; i < NUMBERS_MAX; i++)
		input[i] = (float)noise(&seed);
	fill_batch(3, ROWS, INPUTS, CLASSES, input, label);
	empty[2] = empty[9] = 1;
	for (uint32_t i = 0; i < ROWS * IDS; i++)
		ids[i] = i * 7 / 2 % TABLE;
	for (uint32_t r = 0; r < ROWS; r++) { /* zeros behind, before and between the others; all zeros */
		const uint32_t from = r % 3 == 1 ? 2 * r : 0, to = r == 6       ? 0
								   : r % 3 == 2 ? WORDS - 3 * r
										: WORDS;

		for (uint32_t w = from; w < to; w++)
			words[r * WORDS + w] = (r + w * 5) % TABLE;
	}
	for (uint32_t i = 0; i < ROWS * TOKENS_MAX; i++)
		tokens[i] = (i * i + 3) % TABLE;
	for (uint32_t r = 0; r < ROWS; r++) /* rows with no tokens, with some, with all */
		splits[r + 1] = splits[r] + r * 5 % (TOKENS_MAX + 1);
	return 0;
}

#define OPS_TESTS                                                       \
	cmocka_unit_test(test_references_match_differences),            \
		cmocka_unit_test(test_kernels_match_references),        \
		cmocka_unit_test(test_stored_kernels_match_references), \
		cmocka_unit_test(test_later_gradients_add), cmocka_unit_test(test_every_op_is_here)

/* For main(): selects the nets to test. */
static void ops_open(const char *family, const struct net *of_family, size_t count)
{
	family_name = family;
	nets = of_family;
	net_count = count;
}
