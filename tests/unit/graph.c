/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from configurations: names, connections, layout, hash, and the message of every mistake. Needs no
 * device. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/mistakes.h"

#define LAYERS(...)                             \
	(struct config_layer[]){ __VA_ARGS__ }, \
		sizeof((struct config_layer[]){ __VA_ARGS__ }) / sizeof(struct config_layer)

#define LAYER(o, ...)                                       \
	{                                                   \
		.op = o, .name = "", .line = 6, __VA_ARGS__ \
	}
#define ONE(...) .attributes = 1, .attribute = { __VA_ARGS__ }
#define TWO(...) .attributes = 2, .attribute = { __VA_ARGS__ }

static void must_build(const struct config *config, bool training, struct graph *graph)
{
	struct error err = { 0 };

	if (graph_build(config, training, graph, &err) < 0)
		fail_msg("%s", err.text);
}

#define IMAGE OP("reshape", ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 3, 2, 2, 2)))

/* Layers, and the beginning of the error message about them. */
static struct config_layer wrong[][4] = {
	{ LAYER("conv") },
	{ LAYER("dense") },
	{ LAYER("dense", ONE(INT_ATTRIBUTE("units", 0))) },
	{ LAYER("dense", ONE(FLOAT_ATTRIBUTE("units", 2.5))) },
	{ LAYER("dense", ONE(INT_ATTRIBUTE("unit", 2))) },
	{ LAYER("dense", TWO(INT_ATTRIBUTE("units", 2), TEXT_ATTRIBUTE("use_bias", "yes"))) },
	{ LAYER("dense", TWO(INT_ATTRIBUTE("units", 2), TEXT_ATTRIBUTE("kernel_initializer", "he"))) },
	{ LAYER("dropout", ONE(FLOAT_ATTRIBUTE("rate", 1.0))) },
	{ LAYER("dropout", ONE(FLOAT_ATTRIBUTE("rate", -0.5))) },
	{ LAYER("dropout", ONE(TEXT_ATTRIBUTE("rate", "high"))) },
	{ LAYER("relu", ONE(INT_ATTRIBUTE("alpha", 1))) },
	{ LAYER("relu", ONE(FLOAT_ATTRIBUTE("kernel_l2", 0.1))) },
	{ LAYER("dense", TWO(INT_ATTRIBUTE("units", 2), FLOAT_ATTRIBUTE("kernel_l2", -0.1))) },
	{ LAYER("dense", TWO(INT_ATTRIBUTE("units", 2), FLOAT_ATTRIBUTE("kernel_l3", 0.1))) },
	{ DENSE(2) },
	{ DENSE(3), SOFTMAX },
	{ DENSE(2), { .op = "softmax", .name = "out", .inputs = 1, .input = { "nothing" }, .line = 9 } },
	{ DENSE(2),
	  { .op = "softmax", .name = "out", .inputs = 2, .input = { "dense", "dense" }, .line = 9 } },
	{ DENSE(2), { .op = "relu", .name = "dense", .line = 9 } },
	{ { .op = "relu", .name = "a/b", .line = 9 } },
	{ { .op = "relu", .name = "state", .line = 9 } },
	{ { .op = "relu", .name = "_d", .line = 9 } },
	{ { .op = "relu", .name = "sentence", .line = 9 } },
	{ DENSE(2),
	  { .op = "dense",
	    .name = "side",
	    .line = 9,
	    .inputs = 1,
	    .input = { "sentence" },
	    ONE(INT_ATTRIBUTE("units", 2)) },
	  SOFTMAX },
	{ OP("add") },
	{ OP("add", INPUTS_OF(2, "sentence", "label")) },
	{ DENSE(3), OP("add", INPUTS_OF(2, "dense", "sentence")) },
	{ OP("concatenate", INPUTS_OF(2, "sentence", "sentence"), ATTRIBUTES(1, INT_ATTRIBUTE("axis", 2))) },
	{ OP("reshape", ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 2, 3, -1))) },
	{ OP("reshape", ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 2, -2, 4))) },
	{ OP("reshape", ATTRIBUTES(1, INT_ATTRIBUTE("target_shape", 8))) },
	{ OP("dense", ATTRIBUTES(2, INT_ATTRIBUTE("units", 2), INT_ATTRIBUTE("trainable", 0))) },
	{ OP("relu", ATTRIBUTES(1, BOOL_ATTRIBUTE("trainable", 0))) },
	{ OP("normalization", ATTRIBUTES(1, BOOL_ATTRIBUTE("trainable", 0))) },
	{ OP("dense", ATTRIBUTES(2, INT_ATTRIBUTE("units", 2), BOOL_ATTRIBUTE("trainable", 0))), SOFTMAX },
	{ OP("conv2d", TWO(INT_ATTRIBUTE("filters", 2), INT_ATTRIBUTE("kernel_size", 3))) },
	{ IMAGE, OP("max_pooling2d", ONE(INT_ATTRIBUTE("pool_size", 3))) },
	{ IMAGE, OP("max_pooling2d", TWO(INT_ATTRIBUTE("pool_size", 0), TEXT_ATTRIBUTE("padding", "full"))) },
	{ IMAGE, OP("max_pooling2d", TWO(INT_ATTRIBUTE("pool_size", 2), TEXT_ATTRIBUTE("padding", "full"))) },
	{ IMAGE, OP("depthwise_conv2d",
		    ATTRIBUTES(3, INT_ATTRIBUTE("kernel_size", 1), INT_ATTRIBUTE("dilation_rate", 2),
			       INTS_ATTRIBUTE("strides", 2, 1, 2))) },
	{ IMAGE, OP("conv2d",
		    ATTRIBUTES(2, INT_ATTRIBUTE("filters", 2), INTS_ATTRIBUTE("kernel_size", 3, 1, 1, 1))) },
	{ OP("conv1d", TWO(INT_ATTRIBUTE("filters", 2), INT_ATTRIBUTE("kernel_size", 3))) },
	{ OP("reshape", ONE(INTS_ATTRIBUTE("target_shape", 2, 2, 4))),
	  OP("max_pooling1d", ONE(INT_ATTRIBUTE("pool_size", 3))) },
	{ DENSE(3), OP("dot", INPUTS_OF(2, "dense", "sentence"), ATTRIBUTES(1, INT_ATTRIBUTE("axes", 1))) },
	{ OP("dot", INPUTS_OF(2, "sentence", "sentence"), ATTRIBUTES(1, INT_ATTRIBUTE("axes", 0))) },
	{ OP("multi_head_attention", TWO(INT_ATTRIBUTE("num_heads", 2), INT_ATTRIBUTE("key_dim", 3))) },
	{ OP("reshape", ONE(INTS_ATTRIBUTE("target_shape", 2, 2, 4))),
	  OP("reshape", INPUTS_OF(1, "sentence"), ONE(INTS_ATTRIBUTE("target_shape", 2, 4, 2))),
	  OP("multi_head_attention", INPUTS_OF(3, "reshape", "reshape_1", "reshape"),
	     TWO(INT_ATTRIBUTE("num_heads", 2), INT_ATTRIBUTE("key_dim", 3))) },
	{ OP("subtract", INPUTS_OF(3, "sentence", "sentence", "sentence")) },
	{ OP("reshape", ONE(INTS_ATTRIBUTE("target_shape", 2, 4, 2))),
	  OP("position_embedding", ONE(INT_ATTRIBUTE("sequence_length", 3))) },
	{ OP("permute", ONE(INTS_ATTRIBUTE("dims", 2, 2, 1))) },
	{ IMAGE, OP("permute", ONE(INTS_ATTRIBUTE("dims", 3, 1, 3, 3))) },
	{ IMAGE, OP("conv2d", TWO(INT_ATTRIBUTE("filters", 1 << 20), INT_ATTRIBUTE("kernel_size", 1))),
	  OP("conv2d", ATTRIBUTES(3, INT_ATTRIBUTE("filters", 1 << 20), INT_ATTRIBUTE("kernel_size", 1024),
				  TEXT_ATTRIBUTE("padding", "same"))) },
};
static const char *const texts[] = {
	"6: model.layers.op: found \"conv\", allowed: dense, relu, ",
	"6: model.layers.units: found nothing, allowed: an integer 1 <= x <= 1048576",
	"7: model.layers.units: found 0, allowed: an integer 1 <= x <= 1048576",
	"7: model.layers.units: found 2.5, allowed: an integer 1 <= x <= 1048576",
	"7: model.layers.unit: found an unknown key, allowed for dense: op, name, inputs, units, use_bias, ",
	"7: model.layers.use_bias: found \"yes\", allowed: true or false",
	"7: model.layers.kernel_initializer: found \"he\", allowed: \"glorot_uniform\"",
	"7: model.layers.rate: found 1, allowed: a number 0 <= x < 1",
	"7: model.layers.rate: found -0.5, allowed: a number 0 <= x < 1",
	"7: model.layers.rate: found \"high\", allowed: a number 0 <= x < 1",
	"7: model.layers.alpha: found an unknown key, allowed for relu: op, name, inputs",
	"7: model.layers.kernel_l2: found an unknown key, allowed for relu: op, name, inputs",
	"7: model.layers.kernel_l2: found -0.1, allowed: a number 0 <= x <= 1000000",
	"7: model.layers.kernel_l3: found an unknown key, allowed for dense: op, name, inputs, units, ",
	"6: model.layers.op: found \"dense\" as the last, allowed with loss ",
	"6: model.layers: found 3 outputs, allowed: 2, the classes of label 'label'",
	"9: model.layers.inputs: found \"nothing\", allowed: an earlier layer or a feature, \"sentence\"",
	"9: model.layers.inputs: found 2, allowed for softmax: 1",
	("9: model.layers.name: found \"dense\", allowed: a name that no other layer has; "
	 "the layer on line 6 "),
	"9: model.layers.name: found \"a/b\", allowed: letters, digits,",
	"9: model.layers.name: found \"state\", allowed: letters, digits,",
	"9: model.layers.name: found \"_d\", allowed: letters, digits, _ - . (not _ or - first)",
	"9: model.layers.name: found \"sentence\", allowed: a name that no feature has",
	"6: model.layers: found 'dense', whose output no later layer reads, allowed: only for the last layer",
	"6: model.layers.inputs: found 1, allowed for add: 2 .. 1024",
	"6: model.layers.inputs: found \"label\", allowed: an earlier layer or a feature, \"sentence\"",
	("6: model.layers.inputs: layer 'add' (add): found 'sentence' of shape [8], allowed beside 'dense' "
	 "of [3]: the same"),
	("6: model.layers.inputs: layer 'concatenate' (concatenate): found 'sentence' of shape [8], allowed "
	 "beside 'sentence' of [8]: one "),
	("6: model.layers.inputs: layer 'reshape' (reshape): found 'sentence' of shape [8] for a "
	 "target_shape of [3, -1], allowed: one whose 8 numbers it "),
	"7: model.layers.target_shape: found [ -2, 4 ], allowed: [ ] of 1 .. 8 integers, each -1 <= x ",
	"7: model.layers.target_shape: found 8, allowed: [ ] of 1 .. 8 integers, ",
	"7: model.layers.trainable: found 0, allowed: true or false",
	"7: model.layers.trainable: found an unknown key, allowed for relu: op, name, inputs",
	"7: model.layers.trainable: found an unknown key, allowed for normalization: op, name, inputs",
	"6: model.layers: found nothing to learn, allowed: a layer whose parameters are not frozen",
	("6: model.layers.inputs: layer 'conv2d' (conv2d): found 'sentence' of shape [8], allowed: an image "
	 "[height, width, channels]"),
	("6: model.layers.inputs: layer 'max_pooling2d' (max_pooling2d): found a window of [3, 3] over "
	 "'reshape' of shape [2, 2, 2], allowed: "),
	"7: model.layers.pool_size: found 0, allowed: one integer for all, or [ ] of 2 .. 2 integers, each ",
	"7: model.layers.padding: found \"full\", allowed: \"valid\", \"same\"",
	("6: model.layers.inputs: layer 'depthwise_conv2d' (depthwise_conv2d): found strides [1, 2] with "
	 "dilation_rate [2, 2], allowed: one of them "),
	"7: model.layers.kernel_size: found [ 1, 1, 1 ], allowed: one integer for all, or [ ] of 2 ..",
	("6: model.layers.inputs: layer 'conv1d' (conv1d): found 'sentence' of shape [8], allowed: a "
	 "sequence "
	 "[steps, channels]"),
	("6: model.layers.inputs: layer 'max_pooling1d' (max_pooling1d): found a window of 3 over 'reshape' "
	 "of "
	 "shape [2, 4], allowed: one that fits, or "),
	("6: model.layers.inputs: layer 'dot' (dot): found 'sentence' of shape [8], allowed beside 'dense' "
	 "of [3]: "
	 "the same"),
	"6: model.layers.inputs: layer 'dot' (dot): found axis 0, the rows of a batch, allowed: 1 or -1",
	("6: model.layers.inputs: layer 'multi_head_attention' (multi_head_attention): found 'sentence' of "
	 "shape [8], allowed: a sequence [steps, channels]"),
	("6: model.layers.inputs: layer 'multi_head_attention' (multi_head_attention): found 4 steps of the "
	 "value 'reshape_1' and 2 of the key 'reshape', allowed: the same"),
	"6: model.layers.inputs: found 3, allowed for subtract: 2",
	("6: model.layers.inputs: layer 'position_embedding' (position_embedding): found sequence_length 3 "
	 "for "
	 "an input of 4 steps, allowed: at least as many"),
	("6: model.layers.inputs: layer 'permute' (permute): found dims [2, 1] for an input of shape [8], "
	 "allowed: "
	 "each of 1 .. 1 once"),
	("6: model.layers.inputs: layer 'permute' (permute): found dims [1, 3, 3] for an input of shape [2, "
	 "2, 2], "
	 "allowed: each of 1 .. 3 once"),
	("6: model.layers: found conv2d_1/kernel of shape [1024, 1024, 1048576, 1048576], allowed: at most "
	 "70368744177664 numbers"),
};

static void test_mistakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint32_t count = 0;
		struct graph graph;
		struct error err = { 0 };

		while (count < 4 && wrong[i][count].op)
			count++;
		const struct config config = model_config(wrong[i], count, 8, 2, 4);

		assert_int_equal(graph_build(&config, true, &graph, &err), -EINVAL);
		if (strncmp(err.text, "k.conf:", 7) != 0 ||
		    strncmp(err.text + 7, texts[i], strlen(texts[i])) != 0)
			fail_msg("found \"%s\"\nwanted \"%s\"", err.text, texts[i]);
	}
}

static void test_mistakes_around_layers(void **state)
{
	struct config_layer net[] = { DENSE(2), SOFTMAX };
	struct config config = model_config(net, 2, 8, 2, 4);

	(void)state;
	config.model.loss = "mse";
	expect(&config, "model.loss: found \"mse\", allowed: categorical_crossentropy");
	config.model.loss = "categorical_crossentropy";
	config.optimizer.name = "tiger";
	expect(&config, "optimizer.name: found \"tiger\", allowed: adam, adamw, sgd");
	config.optimizer.name = "adam";
	config.optimizer.clipnorm = config.optimizer.global_clipnorm = 1;
	expect(&config,
	       "k.conf:1: optimizer.global_clipnorm: found beside optimizer.clipnorm, allowed: one of "
	       "clipvalue, clipnorm and global_clipnorm");
	config.optimizer.clipvalue = 1;
	expect(&config, "optimizer.clipnorm: found beside optimizer.clipvalue, allowed: one of");
	config.optimizer.clipvalue = config.optimizer.clipnorm = config.optimizer.global_clipnorm = 0;
	config.optimizer.exclude_from_weight_decay = "bias, gamma";
	expect(&config,
	       "optimizer.exclude_from_weight_decay: found \"gamma\", allowed: a part of a parameter's");
	config.optimizer.exclude_from_weight_decay = "";
	config.optimizer.ema_overwrite_frequency = 5;
	expect(&config, "optimizer.ema_overwrite_frequency: found 5, which nothing reads, allowed: with "
			"optimizer.use_ema = true");
	config.optimizer.ema_overwrite_frequency = 0;
	config.run.batch_rows = 65536;
	net[0].attribute[0].i = 32768;
	expect(&config,
	       "k.conf:6: model.layers: found an output of 'dense' with more than 2147483647 numbers "
	       "for 65536 rows");
	net[0].attribute[0].i = 2;
	config.feature[0].shape[0] = 32768;
	config.model.precision = PRECISION_MIXED_BFLOAT16;
	expect(&config, "k.conf:6: model.layers: found an input of 'dense' with more than 2147483647 numbers "
			"for 65536 rows");
	config.run.batch_rows = 4;
	config.feature[0].shape[0] = 65536;
	net[0].attribute[0].i = 65536;
	expect(&config, "found dense/kernel of shape [65536, 65536], allowed: at most 4294967295 numbers");
	config.model.precision = PRECISION_FLOAT32;
	config.feature[0].shape[0] = 8;
	net[0].attribute[0].i = 2;
	config.feature[0].rank = 2;
	config.feature[0].shape[1] = 3;
	expect(&config, "k.conf:6: model.layers: found 16 outputs, allowed: 2, the classes of label 'label'");
}

static void test_sizes_of_attention(void **state)
{
	struct config_layer net[] = { OP("reshape", ONE(INTS_ATTRIBUTE("target_shape", 2, 8, 1))),
				      OP("multi_head_attention", TWO(INT_ATTRIBUTE("num_heads", 1024),
								     INT_ATTRIBUTE("key_dim", 256))),
				      OP("flatten"), DENSE(2), SOFTMAX };
	struct config config = model_config(net, sizeof(net) / sizeof(*net), 8, 2, 1024);

	(void)state;
	expect(&config,
	       "multi_head_attention): found 8 queries of 262144 numbers and 8 keys of 262144 for 1024 "
	       "rows, allowed: at most 2147483647 numbers of each");
}

static void test_meant(void **state)
{
	struct config_layer net[] = { OP("convd2"), DENSE(2), SOFTMAX };
	const struct config config = model_config(net, 3, 8, 2, 4);

	(void)state;
	expect(&config, "global_average_pooling2d; did you mean \"conv2d\"?");
	net[0].op = "dropout";
	net[0].attributes = 1;
	net[0].attribute[0] = (struct config_attribute)INT_ATTRIBUTE("rat", 0);
	expect(&config, "allowed for dropout: op, name, inputs, rate; did you mean \"rate\"?");
}

static void test_names_and_shapes(void **state)
{
	struct config_layer net[] = {
		DENSE(9),
		RELU,
		{ .op = "dense", .name = "mine", .line = 6, ONE(INT_ATTRIBUTE("units", 7)) },
		RELU,
		DENSE(2),
		SOFTMAX
	};
	static const char *const names[] = { "dense", "relu", "mine", "relu_1", "dense_2", "softmax" };
	const struct config config = model_config(net, 6, 8, 2, 4);
	struct graph graph;

	(void)state;
	must_build(&config, false, &graph);
	assert_int_equal(graph.nodes, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_string_equal(graph.node[i].name, names[i]);
	assert_int_equal(graph.parameters, 8 * 9 + 9 + 9 * 7 + 7 + 7 * 2 + 2);
	assert_string_equal(graph_at(&graph, graph.node[2].parameter[0])->name, "mine/kernel");
	assert_int_equal(graph_at(&graph, graph.node[2].parameter[0])->shape[0], 9);
	assert_int_equal(graph_at(&graph, graph.node[2].parameter[0])->shape[1], 7);
	graph_done(&graph);
}

/* A layer may name any earlier layer as its input: here the layer "d" reads the layer "r". */
static void test_named_inputs(void **state)
{
	struct config_layer net[] = {
		DENSE(9),
		{ .op = "relu", .name = "r", .inputs = 1, .input = { "dense" }, .line = 6 },
		{ .op = "dense",
		  .name = "d",
		  .inputs = 1,
		  .input = { "r" },
		  .line = 6,
		  ONE(INT_ATTRIBUTE("units", 2)) },
		SOFTMAX,
	};
	const struct config config = model_config(net, 4, 8, 2, 4);
	struct graph graph;

	(void)state;
	must_build(&config, false, &graph);
	assert_int_equal(graph.node[2].input[0], graph.node[1].output);
	graph_done(&graph);
}

/* `activation`, Keras's short form, adds a layer after the layer: a layer that names this one reads the
 * added layer. */
static void test_activation(void **state)
{
#define ACTIVE(n, f) ATTRIBUTES(2, INT_ATTRIBUTE("units", n), TEXT_ATTRIBUTE("activation", f))
	struct config_layer net[] = { OP("dense", ACTIVE(9, "relu")), OP("relu"),
				      NAMED("dense", "b", ACTIVE(9, "linear")),
				      OP("add", INPUTS_OF(2, "dense", "b")),
				      OP("dense", ACTIVE(2, "softmax")) };
	static const char *const names[] = { "dense",   "dense_activation",  "relu", "b", "add",
					     "dense_2", "dense_2_activation" };
	const struct config config = model_config(net, 5, 8, 2, 4);
	struct graph graph;

	(void)state;
	must_build(&config, true, &graph);
	assert_int_equal(graph.nodes, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_string_equal(graph.node[i].name, names[i]);
	assert_string_equal(graph.node[1].op->name, "relu");
	assert_int_equal(graph.node[2].input[0], graph.node[1].output);
	assert_int_equal(graph.node[4].input[0], graph.node[1].output);
	assert_int_equal(graph.node[4].input[1], graph.node[3].output);
	graph_done(&graph);
	net[0].attribute[1].s = "dropout";
	expect(&config, "model.layers.activation: found \"dropout\", allowed: \"linear\", \"relu\", ");
	net[0].attribute[1].s = "relu";
	net[1].attributes = 1;
	net[1].attribute[0] = (struct config_attribute)TEXT_ATTRIBUTE("activation", "relu");
	expect(&config, "model.layers.activation: found an unknown key, allowed for relu: ");
}

/* Layers that all name their inputs need no model.input; a given model.input that no layer reads is
 * refused. */
static void test_unused_input(void **state)
{
	struct config_layer net[] = {
		OP("dense", INPUTS_OF(1, "age"), ATTRIBUTES(1, INT_ATTRIBUTE("units", 2))), SOFTMAX
	};
	struct config config = model_config(net, 2, 8, 2, 4);
	struct graph graph;

	(void)state;
	config.features = 3;
	config.feature[2] = (struct config_feature){ .name = "age", .rank = 1, .shape = { 3 } };
	must_build(&config, true, &graph);
	assert_int_equal(graph.inputs, 1);
	assert_string_equal(graph_at(&graph, graph.input[0])->name, "age");
	graph_done(&graph);
	config.model.input = "age";
	must_build(&config, true, &graph);
	assert_int_equal(graph.inputs, 1);
	graph_done(&graph);
	config.feature[0].name = "other";
	config.model.input = "other";
	expect(&config, "k.conf:1: model.input: found \"other\", which nothing reads, allowed: with a layer "
			"that reads it");
}

/* Features that layers name are the inputs of the batch, in the order of their first use. A ragged feature
 * is two inputs, as in the ring. */
static void test_features(void **state)
{
	struct config_layer net[] = { OP("concatenate", INPUTS_OF(2, "age", "sentence")),
				      OP("dense", ATTRIBUTES(1, INT_ATTRIBUTE("units", 2))), SOFTMAX,
				      OP("dense", INPUTS_OF(1, "tokens"),
					 ATTRIBUTES(1, INT_ATTRIBUTE("units", 2))) };
	struct config config = model_config(net, 3, 8, 2, 4);
	struct graph graph;

	(void)state;
	config.features = 4;
	config.feature[2] = (struct config_feature){ .name = "age", .rank = 1, .shape = { 3 } };
	config.feature[3] =
		(struct config_feature){ .name = "tokens", .dtype = CONFIG_INT64, .values_max = 9 };
	must_build(&config, true, &graph);
	assert_int_equal(graph.inputs, 2);
	assert_string_equal(graph_at(&graph, graph.input[0])->name, "sentence");
	assert_string_equal(graph_at(&graph, graph.input[1])->name, "age");
	assert_int_equal(graph_at(&graph, graph.node[0].output)->shape[0], 11);
	assert_int_equal(graph_at(&graph, graph.node[1].parameter[0])->shape[0], 11);
	graph_done(&graph);
	config.model.layers = 4;
	expect(&config, "found 'tokens/values' of ragged I64, allowed for dense: F32");
}

static bool overlap(const struct tensor *a, const struct tensor *b)
{
	return a->offset < b->offset + b->bytes + TENSOR_SLACK &&
	       b->offset < a->offset + a->bytes + TENSOR_SLACK;
}

/* Tensors are aligned and separated by their slack; slots and gradients have the same offsets as the
 * parameters. */
static void test_layout(void **state)
{
	struct config_layer net[] = { DENSE(33), RELU, DENSE(2), SOFTMAX };
	const struct config config = model_config(net, 4, 17, 2, 5);
	struct graph graph;
	uint32_t slots = 0;

	(void)state;
	must_build(&config, true, &graph);
	layout_work(&graph, NULL, 0);
	const uint64_t region = graph_at(&graph, graph.parameter_region)->bytes;

	for (uint32_t i = 0; i < graph.tensors; i++) {
		const struct tensor *a = graph_at(&graph, i);

		if (a->arena == ARENA_BATCH || !strcmp(a->name, "region"))
			continue;
		assert_int_equal(a->offset % TENSOR_ALIGN, 0);
		assert_true(a->offset + a->bytes + TENSOR_SLACK <= graph.arena_bytes[a->arena]);
		for (uint32_t j = i + 1; j < graph.tensors; j++)
			if (graph_at(&graph, j)->arena == a->arena &&
			    strcmp(graph_at(&graph, j)->name, "region") != 0)
				assert_false(overlap(a, graph_at(&graph, j)));
		if (a->role == ROLE_PARAMETER)
			assert_int_equal(graph_at(&graph, a->gradient)->offset, a->offset);
		for (uint32_t j = 0; a->role == ROLE_SLOT && j < graph.tensors; j++) {
			const struct tensor *p = graph_at(&graph, j);

			if (p->role == ROLE_PARAMETER && !strcmp(p->name, a->name + strlen("optimizer/m/"))) {
				assert_int_equal(a->offset,
						 p->offset + region * (a->name[10] == 'm' ? 1 : 2));
				slots++;
			}
		}
	}
	assert_int_equal(slots, 8);
	graph_done(&graph);
}

static void hash_of(const struct config *config, char hash[static GRAPH_HASH_BYTES])
{
	struct graph graph;

	must_build(config, true, &graph);
	memcpy(hash, graph.hash, GRAPH_HASH_BYTES);
	graph_done(&graph);
}

/* A mask changes what the layers compute. A graph without one keeps the hash that it had before masks. */
static void test_hash_of_a_mask(void **state)
{
	struct config_layer net[] = { OP("embedding", INPUTS_OF(1, "words"),
					 ATTRIBUTES(3, INT_ATTRIBUTE("input_dim", 9),
						    INT_ATTRIBUTE("output_dim", 4),
						    BOOL_ATTRIBUTE("mask_zero", 1))),
				      OP("global_average_pooling1d"), DENSE(2), SOFTMAX };
	struct config config = model_config(net, 4, 8, 2, 4);
	char with[GRAPH_HASH_BYTES], without[GRAPH_HASH_BYTES], absent[GRAPH_HASH_BYTES];

	(void)state;
	config.feature[config.features++] =
		(struct config_feature){ .name = "words", .dtype = CONFIG_INT64, .rank = 1, .shape = { 6 } };
	hash_of(&config, with);
	net[0].attribute[2].i = 0;
	hash_of(&config, without);
	net[0].attributes = 2;
	hash_of(&config, absent);
	assert_string_equal(without, absent);
	assert_string_not_equal(with, absent);
}

/* The hash protects checkpoints: it must never change for the same graph. */
static void test_hash(void **state)
{
	struct config_layer net[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
				      RELU,       DROPOUT(0.2), DENSE(2),     SOFTMAX };
	struct config config = model_config(net, 8, 512, 2, 128);
	char first[GRAPH_HASH_BYTES], hash[GRAPH_HASH_BYTES];

	(void)state;
	hash_of(&config, first);
	assert_string_equal(first, "30968a98cdf6b53c0c70ce2d85eafc0dcdef39b4fa8d9806bfc71c8b912795dd");
	/* Rates, seeds and batch sizes may change between nights, */
	config.run.seed = 1;
	config.run.batch_rows = 64;
	config.optimizer.learning_rate = 0.5;
	net[2].attribute[0].f = 0.4;
	hash_of(&config, hash);
	assert_string_equal(hash, first);
	/* but not the graph and the kind of optimizer. */
	net[3].attribute[0].i = 17;
	hash_of(&config, hash);
	assert_string_not_equal(hash, first);
	net[3].attribute[0].i = 16;
	net[4].name = "other";
	hash_of(&config, hash);
	assert_string_not_equal(hash, first);
	net[4].name = "";
	net[0].attribute[net[0].attributes++] = (struct config_attribute)BOOL_ATTRIBUTE("trainable", 0);
	hash_of(&config, hash);
	assert_string_not_equal(hash, first);
	net[0].attributes--;
	config.optimizer.name = "sgd";
	hash_of(&config, hash);
	assert_string_not_equal(hash, first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_of_attention),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_mistakes_around_layers),
		cmocka_unit_test(test_meant),
		cmocka_unit_test(test_names_and_shapes),
		cmocka_unit_test(test_named_inputs),
		cmocka_unit_test(test_activation),
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_unused_input),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_hash_of_a_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
