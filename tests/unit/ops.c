/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every op and loss: its float64 reference against finite differences, its kernels against the reference,
 * fused and not, and the kernels of both device kinds.
 */
#include "tests/reference.h"

#include "model/graph/random.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

#include "tests/unit/device.h"

#define ROWS       13u
#define INPUTS     21u
#define CLASSES    5u
#define INPUTS_MAX 2048u
/* Numbers of a parameter that are moved, about: each is three passes of the net. */
#define DIFFERENCES 24u
#define NUMBERS_MAX (ROWS * INPUTS_MAX)
#define IDS         6u
#define TOKENS_MAX  9u
#define TABLE       11u

static int precision; /* of every net: enum config_precision */
static float input[NUMBERS_MAX];
static int64_t label[ROWS * CLASSES];
static uint8_t empty[ROWS];
static int64_t ids[ROWS * IDS], tokens[ROWS * TOKENS_MAX], splits[ROWS + 1];

#define UNITS(n)  ATTRIBUTES(1, INT_ATTRIBUTE("units", n))
#define FROZEN(n) OP("dense", ATTRIBUTES(2, INT_ATTRIBUTE("units", n), BOOL_ATTRIBUTE("trainable", 0)))
#define NO_BIAS(n)                                                         \
	{                                                                  \
		.op = "dense", .name = "", .attributes = 2, .attribute = { \
			INT_ATTRIBUTE("units", n),                         \
			BOOL_ATTRIBUTE("use_bias", 0)                      \
		}                                                          \
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

static struct config_layer frozen[] = { DENSE(9), RELU, FROZEN(7), RELU, DENSE(5), SOFTMAX };
static struct config_layer frozen_below[] = { FROZEN(9), RELU, DENSE(7), RELU, DENSE(5), SOFTMAX };
static struct config_layer residual[] = { NAMED("dense", "a", UNITS(9)),
					  RELU,
					  OP("dense", UNITS(9)),
					  OP("add", INPUTS_OF(3, "dense_1", "a", "a")),
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
/* The view's gradient is its input's, which others add to. */
static struct config_layer shared_view[] = { NAMED("dense", "a", UNITS(6)),
					     OP("reshape",
						ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 2, 3, 2))),
					     OP("dense", UNITS(2)),
					     OP("flatten"),
					     OP("add", INPUTS_OF(2, "flatten", "a")),
					     DENSE(5),
					     SOFTMAX };

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

/* 13 rows of 6 are two chunks of the sums' tree, of 400 two levels of them. */
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
static struct config_layer normalizations[] = { OP("normalization"), DENSE(9), OP("normalization"), DENSE(5),
						SOFTMAX };
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
static struct config_layer conv_dilated[] = { CONV2D(3, CONV(3, 2, 2), SAME),
					      CONV2D(5, CONV(20, 3, 2), SAME,
						     INTS_ATTRIBUTE("dilation_rate", 2, 2, 1),
						     BOOL_ATTRIBUTE("use_bias", 0)),
					      RELU, IMAGE_END };
static struct config_layer conv_apart[] = { DENSE(2), CONV2D(3, CONV(9, 2, 1), STRIDES(3, 2)),
					    CONV2D(3, CONV(33, 5, 4), SAME), IMAGE_END };
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
static struct config_layer rows_dropped[] = { DENSE(9), DROPOUT(0.3), IMAGE_END };
/* Zeros behind relu are equal: the first gets the gradient. */
static struct config_layer max_pools[] = { DENSE(3), RELU, POOL("max", 3, 2, 2, SAME, STRIDES(2, 1)),
					   POOL("max", 2, 2, 0), IMAGE_END };
static struct config_layer average_pools[] = { DENSE(3), POOL("average", 3, 2, 2, SAME, STRIDES(2, 1)),
					       POOL("average", 2, 2, 0), IMAGE_END };
static struct config_layer pools_apart[] = { DENSE(3), POOL("max", 2, 1, 1, STRIDES(3, 2)),
					     POOL("average", 1, 2, 1, STRIDES(2, 3)), IMAGE_END };
static struct config_layer global_max[] = { DENSE(6), OP("global_max_pooling2d"), DENSE(5), SOFTMAX };
static struct config_layer global_average[] = {
	DENSE(6), OP("global_average_pooling2d", ATTRIBUTES(1, BOOL_ATTRIBUTE("keepdims", 1))), IMAGE_END
};
static struct config_layer global_flat[] = { DENSE(6), OP("global_average_pooling2d"), DENSE(5), SOFTMAX };

/* Of ids and of ragged tokens; 3, 16 and 21 columns are part of a block, one, and more than one. */
#define TABLE_OF(columns) INT_ATTRIBUTE("input_dim", TABLE), INT_ATTRIBUTE("output_dim", columns)
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
/* Two tables, and a layer that has the sum of both and of a dense one. */
static struct config_layer tables[] = {
	NAMED("embedding_bag", "a", INPUTS_OF(1, "tokens"), ATTRIBUTES(2, TABLE_OF(12))),
	NAMED("embedding", "b", INPUTS_OF(1, "ids"), ATTRIBUTES(2, TABLE_OF(2))),
	OP("flatten"),
	NAMED("dense", "c", INPUTS_OF(1, "sentence"), UNITS(12)),
	OP("add", INPUTS_OF(3, "a", "flatten", "c")),
	DENSE(5),
	SOFTMAX
};

/* Nets of each kind of layer; the input is [INPUTS] where no shape is given. A new op is a line here. The
 * difference allowed to the float64 reference is `tolerance` of the number and half of it at zero. */
#define NET(layers, ...) NET_WITHIN(0, layers, __VA_ARGS__)
#define NET_WITHIN(most, layers_of, ...)                                                                     \
	{                                                                                                    \
		.label = #layers_of, .layers = layers_of, .count = sizeof(layers_of) / sizeof(*(layers_of)), \
		.shape = { __VA_ARGS__ }, .tolerance = most,                                                 \
	}
static const struct net {
	const char *label;
	struct config_layer *layers;
	uint32_t count;
	uint64_t shape[CONFIG_SHAPE_MAX];
	double tolerance; /* 0: 4e-6; more where sums are long */
} nets[] = {
	NET(just_dense),
	NET(no_bias),
	NET(with_relu),
	NET(with_dropout),
	NET(relu_dropout),
	NET(dropout_relu),
	NET(inner_softmax),
	NET(first_dropout),
	NET(rows_relu),
	NET(frozen),
	NET(sigmoids),
	NET(tanhs),
	NET(swishes),
	NET(silus),
	NET(gelus),
	NET(gelus_tanh),
	NET(leaky),
	NET(leaky_own),
	NET(batch_norms, 3, 2, 5),
	NET_WITHIN(1e-5, batch_norms, 400, 2),
	NET(batch_norm_plain),
	NET(batch_norm_frozen),
	NET(layer_norms, 3, 2, 5),
	NET_WITHIN(1e-5, layer_norms, 400, 2),
	NET(layer_norm_plain),
	NET(normalizations),
	NET(frozen_below),
	NET(residual),
	NET(joined),
	NET(shapes, 4, 3),
	NET(shared_view),
	NET_WITHIN(2e-5, convs, 6, 5, 3),
	NET_WITHIN(2e-5, conv_wide, 5, 5, 2),
	NET_WITHIN(2e-5, conv_dilated, 6, 5, 3),
	NET_WITHIN(2e-5, conv_apart, 7, 6, 3),
	NET_WITHIN(2e-5, conv_dropped, 6, 5, 3),
	NET_WITHIN(2e-5, conv_residual, 4, 5, 3),
	NET_WITHIN(2e-5, depthwises, 6, 5, 3),
	NET(rows_dropped, 3, 4),
	NET(max_pools, 6, 5, 3),
	NET(average_pools, 6, 5, 3),
	NET(pools_apart, 7, 8, 3),
	NET(global_max, 6, 5, 3),
	NET(global_average, 6, 5, 3),
	NET(global_flat, 6, 5, 3),
	NET(embeddings),
	NET(embedding_frozen),
	NET(bag_mean),
	NET(bag_sum),
	NET(bag_sqrtn),
	NET(tables),
};
#define NETS (sizeof(nets) / sizeof(*nets))

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
	config.features = 4;
	config.feature[2] =
		(struct config_feature){ .name = "ids", .dtype = CONFIG_INT64, .rank = 1, .shape = { IDS } };
	config.feature[3] =
		(struct config_feature){ .name = "tokens", .dtype = CONFIG_INT64, .values_max = TOKENS_MAX };
	return config;
}

static const struct {
	const char *name;
	const void *data;
	uint64_t bytes;
} columns[] = {
	{ "sentence", input, sizeof(input) },
	{ "ids", ids, sizeof(ids) },
	{ "tokens/splits", splits, sizeof(splits) },
	{ "tokens/values", tokens, sizeof(tokens) },
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

/* State, as a moving variance, is positive. */
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

/* In 16 bits some number lies on the other side of a relu or of a maximum than the reference's, and a batch
 * norm divides by what is left of a difference: most of the norm of the difference, bfloat16's and float16's.
 */
static const struct {
	const char *net;
	double most[2];
} stored_limits[] = {
	{ "conv_wide", { 0.12, 0.07 } },
	{ "conv_dilated", { 0.06, 0.03 } },
	{ "convs", { 0.04, 2e-3 } },
	{ "dropout_relu", { 0.07, 2e-3 } },
	{ "conv_residual", { 0.03, 2e-3 } },
	{ "batch_norms", { 0.12, 2e-3 } },
	{ "", { 0.016, 2e-3 } },
};

static double stored_limit(const struct net *net)
{
	size_t i = 0;

	while (stored_limits[i].net[0] && strcmp(stored_limits[i].net, net->label) != 0)
		i++;
	return stored_limits[i].most[precision == PRECISION_MIXED_FLOAT16];
}

/* By the norm of the difference. Gradients are scaled here: the optimizer's launches undo it. */
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
	/* A sum of zero, as of the bias before a batch norm, leaves what its terms have lost. */
	if (!(sqrt(difference) <= (square > 1e-18 ? stored_limit(net) * sqrt(square) : 1e-2)))
		fail_msg("%s, %d: %s %s: norm %g, of the difference %g", net->label, precision,
			 what->role == ROLE_GRADIENT ? "d" : "", what->name, sqrt(square), sqrt(difference));
}

/* `more` is what the tensor holds besides. */
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

/* Give the device parameters and batch, run the plan, and give the reference the same. */
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

/* Values and gradients of every tensor that the plan still makes. */
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
	for (size_t n = 0; n < NETS; n++) {
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

/* The same stored as 16 bits. */
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

/* The launches of the article's network on a CPU device, less its update and metrics. */
static void test_fusion_shortens(void **state)
{
	static struct config_layer article[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
						 RELU,       DROPOUT(0.2), DENSE(5),     SOFTMAX };
	const struct config config = model_config(article, 8, INPUTS, CLASSES, ROWS);
	struct harness h;

	(void)state;
	harness_open(&h, gpu, &config, true);
	emit_training(&h, false);
	assert_int_equal(h.plan.launches, 23);
	plan_fuse(&h.plan);
	assert_int_equal(h.plan.launches, 7);
	harness_close(&h);
}

/* A gradient that another consumer has written already: each op adds to it. */
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
	for (size_t n = 0; n < NETS; n++) {
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

/* No row of the table without a net. */
static void test_every_op_is_here(void **state)
{
	(void)state;
	for (uint32_t i = 0; op_at(i); i++) {
		bool found = false;

		for (size_t n = 0; n < NETS; n++)
			for (uint32_t l = 0; l < nets[n].count; l++)
				found |= !strcmp(nets[n].layers[l].op, op_at(i)->name);
		if (!found)
			fail_msg("%s: in no net", op_at(i)->name);
		if (!op_at(i)->export)
			fail_msg("%s: no form for other tools", op_at(i)->name);
	}
}

/* What lies below the lowest trainable parameter has no backward pass, and what is frozen no gradient and no
 * slot. */
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
	/* dW, db; relu's, dropout's and the second dense's dx */
	assert_int_equal(h.plan.launches, launches - 5);
	assert_int_equal(h.graph.frozen, INPUTS * 9 + 9);
	for (uint32_t i = 0; i < h.graph.tensors; i++) {
		const struct tensor *tensor = graph_at(&h.graph, i);

		assert_false(tensor->role == ROLE_SLOT && strstr(tensor->name, "/dense/"));
		assert_false(tensor->role == ROLE_GRADIENT && !strcmp(tensor->name, "dropout"));
		/* Behind what the optimizer's one launch covers. */
		if (tensor->role == ROLE_PARAMETER && !tensor->trainable)
			assert_true(tensor->offset >=
				    graph_at(&h.graph, h.graph.slot_region[1])->offset +
					    graph_at(&h.graph, h.graph.slot_region[1])->bytes);
	}
	harness_close(&h);
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

/* Mean 0 and Keras's deviation of each, fans of HWIO kernels too; and where each is cut. */
static void test_initializer_spreads(void **state)
{
	static const uint64_t flat[] = { 100, 50 }, hwio[] = { 3, 3, 16, 32 };
	static const struct {
		const char *name;
		double of_flat, of_hwio, most; /* deviations; most: in deviations */
	} cases[] = {
		{ "glorot_uniform", 2.0 / 150, 2.0 / (9 * 48), 1.7320509 },
		{ "glorot_normal", 2.0 / 150, 2.0 / (9 * 48), 2 / 0.8796256 },
		{ "he_uniform", 2.0 / 100, 2.0 / 144, 1.7320509 },
		{ "he_normal", 2.0 / 100, 2.0 / 144, 2 / 0.8796256 },
		{ "lecun_uniform", 1.0 / 100, 1.0 / 144, 1.7320509 },
		{ "lecun_normal", 1.0 / 100, 1.0 / 144, 2 / 0.8796256 },
		{ "random_normal", 0.0025, 0.0025, 6 },
		{ "random_uniform", 0.0025 / 3, 0.0025 / 3, 1.7320509 },
		{ "truncated_normal", 0.0025 * 0.77374, 0.0025 * 0.77374, 2 / 0.8796256 },
	};
	static float numbers[5000];

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const bool conv = i % 2;
		const double wanted = sqrt(conv ? cases[i / 2].of_hwio : cases[i / 2].of_flat);
		double sum = 0, squares = 0, most = 0;

		initializer_fill(cases[i / 2].name, 44, "a/kernel", conv ? 4 : 2, conv ? hwio : flat,
				 conv ? 4608 : 5000, numbers);
		for (uint32_t e = 0; e < 4608; e++) {
			sum += (double)numbers[e];
			squares += (double)numbers[e] * (double)numbers[e];
			most = fmax(most, fabs((double)numbers[e]));
		}
		assert_near(sum / 4608 / wanted, 0, 0.06);
		assert_near(sqrt(squares / 4608) / wanted, 1, 0.03);
		assert_true(most <= wanted * cases[i / 2].most * 1.00001);
	}
	initializer_fill("ones", 44, "bn/gamma", 1, flat, 100, numbers);
	for (uint32_t e = 0; e < 100; e++)
		assert_true(numbers[e] == 1);
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
	for (uint32_t i = 0; i < ROWS * TOKENS_MAX; i++)
		tokens[i] = (i * i + 3) % TABLE;
	for (uint32_t r = 0; r < ROWS; r++) /* none, some, all */
		splits[r + 1] = splits[r] + r * 5 % (TOKENS_MAX + 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_references_match_differences),
		cmocka_unit_test(test_kernels_match_references),
		cmocka_unit_test(test_stored_kernels_match_references),
		cmocka_unit_test(test_fusion_shortens),
		cmocka_unit_test(test_later_gradients_add),
		cmocka_unit_test(test_every_op_is_here),
		cmocka_unit_test(test_freeze_cuts),
		cmocka_unit_test(test_philox),
		cmocka_unit_test(test_initializers),
		cmocka_unit_test(test_initializer_spreads),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
