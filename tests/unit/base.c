/* SPDX-License-Identifier: Apache-2.0 */
/* Base networks: as many parameters as in Keras and torchvision, what is frozen, where gradients end, refused
 * inputs. Compared with these programs' outputs by tests/interop. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "core/base/mistakes.h"
#include "model/base/base.h"

#define CLASSES 5u

static struct config_layer head[] = { DENSE(CLASSES), SOFTMAX };

static struct config base_config(const char *base)
{
	struct config config = model_config(head, sizeof(head) / sizeof(*head), 1, CLASSES, 1);

	config.feature[0].dtype = CONFIG_PICTURE;
	config.feature[0].rank = 3;
	config.feature[0].shape[0] = config.feature[0].shape[1] = 64;
	config.feature[0].shape[2] = 3;
	config.model.base = base;
	config.model.base_trainable = true;
	config.model.base_unfreeze_from = "";
	config.model.base_pooling = POOLING_AVG;
	return config;
}

static struct graph build(const struct config *config)
{
	struct error err = { 0 };
	struct graph graph;

	if (graph_build(config, true, &graph, &err) < 0)
		fail_msg("%s: %s", config->model.base, err.text);
	return graph;
}

static const struct node *node_of(const struct graph *graph, const char *name)
{
	for (uint32_t i = 0; i < graph->nodes; i++)
		if (!strcmp(graph->node[i].name, name))
			return &graph->node[i];
	fail_msg("no layer %s", name);
	return NULL;
}

/* `learnt` and `kept` are what Keras (include_top = False) and torchvision (without fc) count: parameters,
 * and moving statistics; for efficientnet_lite0 what the package efficientnet-lite-pytorch counts. */
static const struct {
	const char *name;
	uint64_t learnt, kept, channels;
	const char *scaling,
		*last; /* a layer that gradients of the whole base reach, and from which it is unfrozen */
} bases[] = {
	{ "vgg16", 14714688, 0, 512, "caffe", "block5_conv3" },
	{ "vgg19", 20024384, 0, 512, "caffe", "block5_conv4" },
	{ "resnet18", 11176512, 9600, 512, "torch", "layer4.1.conv2" },
	{ "resnet34", 21284672, 17024, 512, "torch", "layer4.2.conv2" },
	{ "resnet50", 23534592, 53120, 2048, "caffe", "conv5_block3_3_conv" },
	{ "mobilenet_v2", 2223872, 34112, 1280, "tf", "Conv_1" },
	{ "efficientnet_lite0", 3371008, 42016, 1280, "lite", "top_conv" },
};
#define BASES (sizeof(bases) / sizeof(*bases))

static void test_counts(void **state)
{
	(void)state;
	for (size_t b = 0; b < BASES; b++) {
		const struct config config = base_config(bases[b].name);
		const uint64_t of_head = (bases[b].channels + 1) * CLASSES;
		struct graph graph = build(&config);

		assert_int_equal(graph.parameters, bases[b].learnt + of_head);
		assert_int_equal(graph.frozen, bases[b].kept);
		assert_true(graph.nodes < BASE_LAYERS_MAX);
		assert_int_equal(graph_at(&graph, node_of(&graph, "avg_pool")->output)->shape[0],
				 bases[b].channels);
		assert_string_equal(node_of(&graph, BASE_PREPROCESSING)->attribute[0].s, bases[b].scaling);
		graph_done(&graph);
	}
}

/* A frozen base learns nothing, and nothing in it has a gradient. */
static void test_frozen(void **state)
{
	(void)state;
	for (size_t b = 0; b < BASES; b++) {
		struct config config = base_config(bases[b].name);
		struct graph graph;

		config.model.base_trainable = false;
		graph = build(&config);
		assert_int_equal(graph.parameters, (bases[b].channels + 1) * CLASSES);
		assert_int_equal(graph.frozen, bases[b].learnt + bases[b].kept);
		for (uint32_t i = 0; i < graph.nodes; i++) {
			const struct node *node = &graph.node[i];

			if (i + 2 < graph.nodes)
				assert_false(graph_at(&graph, node->output)->trainable);
			if (!strcmp(node->op->name, "batch_norm"))
				assert_false(node->trainable);
		}
		graph_done(&graph);
	}
}

static void test_unfrozen_from(void **state)
{
	(void)state;
	for (size_t b = 0; b < BASES; b++) {
		struct config config = base_config(bases[b].name);
		const struct node *node;
		struct graph graph;

		config.model.base_trainable = false;
		config.model.base_unfreeze_from = bases[b].last;
		graph = build(&config);
		node = node_of(&graph, bases[b].last);
		assert_true(node->trainable);
		assert_true(graph.parameters > (bases[b].channels + 1) * CLASSES);
		assert_true(graph.parameters < bases[b].learnt);
		assert_false(graph_at(&graph, node->input[0])->trainable);
		graph_done(&graph);
	}
}

/* The name of a PyTorch module stands for its first layer. */
static void test_unfrozen_from_module(void **state)
{
	struct config config = base_config("resnet18");
	struct graph graph;

	(void)state;
	config.model.base_trainable = false;
	config.model.base_unfreeze_from = "layer4";
	graph = build(&config);
	assert_true(node_of(&graph, "layer4.0.conv1")->trainable);
	assert_false(node_of(&graph, "layer3.1.bn2")->trainable);
	graph_done(&graph);
}

static void test_pooling_and_scaling(void **state)
{
	struct config config = base_config("vgg16");
	struct graph graph;

	(void)state;
	config.model.base_pooling = POOLING_MAX;
	config.model.base_scaling = SCALING_NONE;
	graph = build(&config);
	assert_string_equal(graph.node[0].name, "block1_conv1");
	(void)node_of(&graph, "max_pool");
	graph_done(&graph);
	config.model.base_scaling = SCALING_TORCH;
	assert_string_equal(base_scaling(&config), "torch");
}

static void refused(const struct config *config, const char *text)
{
	struct error err = { 0 };
	struct mistakes mistakes = { .file = "f", .err = &err };

	graph_check(config, &mistakes);
	if (!mistakes.count || !strstr(err.text, text))
		fail_msg("%s: found \"%s\", expected \"%s\"", config->model.base, err.text, text);
}

static void test_refused(void **state)
{
	struct config config = base_config("vgg61");

	(void)state;
	refused(&config, "model.base: found \"vgg61\", allowed: vgg16, vgg19, resnet18, resnet34, resnet50, "
			 "mobilenet_v2, efficientnet_lite0, bert; did you mean \"vgg16\"?");
	config = base_config("resnet18");
	config.feature[0].shape[2] = 1;
	refused(&config,
		"model.base: found the input 'sentence' of shape [ 64, 64, 1 ], allowed for resnet18: a "
		"picture, uint8 or float32 feature of shape [ height, width, 3 ], at least 32 high and wide");
	config = base_config("resnet18");
	config.feature[0].shape[1] = 31;
	refused(&config, "of shape [ 64, 31, 3 ], allowed");
	config = base_config("resnet18");
	config.feature[0].dtype = CONFIG_INT64;
	refused(&config, "model.base: found the input 'sentence'");
	config = base_config("vgg16");
	config.model.base_trainable = false;
	config.model.base_unfreeze_from = "block5_convl";
	refused(&config,
		"model.base_unfreeze_from: found \"block5_convl\", allowed: a layer of vgg16; did you mean "
		"\"block5_conv1\"?");
}

/* ---- Layers before the base ---- */

#define FLIP                                               \
	{                                                  \
		.op = "random_flip", .name = "", .line = 6 \
	}
#define CROP(side)                                                                                \
	{                                                                                         \
		.op = "random_crop", .name = "", .line = 7, .attributes = 2,                      \
		.attribute = { { .key = "height", .type = ATTRIBUTE_INT, .i = side, .f = side },  \
			       { .key = "width", .type = ATTRIBUTE_INT, .i = side, .f = side } }, \
	}

static struct config_layer augmented[] = { FLIP, CROP(48), DENSE(CLASSES), SOFTMAX };

/* The layers of a base, as a file would list them. */
struct listed {
	struct config_layer layer[BASE_LAYERS_MAX];
	uint32_t layers;
};

static void list_layer(void *context, const struct config_layer *layer, const char *module)
{
	struct listed *listed = context;
	struct config_layer *kept = &listed->layer[listed->layers++];

	(void)module;
	*kept = *layer;
	kept->name = strdup(layer->name);
	for (uint32_t i = 0; i < layer->inputs; i++)
		kept->input[i] = strdup(layer->input[i]);
	assert_non_null(kept->name);
}

static void listed_done(struct listed *listed)
{
	for (uint32_t i = 0; i < listed->layers; i++) {
		free((void *)listed->layer[i].name);
		for (uint32_t j = 0; j < listed->layer[i].inputs; j++)
			free((void *)listed->layer[i].input[j]);
	}
}

static struct config augmented_config(const char *base, const char *after)
{
	struct config config = base_config(base);

	config.model.layer = augmented;
	config.model.layers = sizeof(augmented) / sizeof(*augmented);
	config.model.base_after = after;
	return config;
}

static void test_after_equals_written_by_hand(void **state)
{
	(void)state;
	for (size_t b = 0; b < BASES; b++) {
		struct config config = augmented_config(bases[b].name, "random_crop"), by_hand = config;
		static struct listed listed;
		struct mistakes mistakes = { .err = &(struct error){ 0 } };
		struct graph graph, wanted;

		config.model.base_trainable = by_hand.model.base_trainable = false;
		listed = (struct listed){ .layers = 2, .layer = { augmented[0], augmented[1] } };
		listed.layer[0].name = strdup("");
		listed.layer[1].name = strdup("");
		base_expand(&config, list_layer, &listed, &mistakes);
		list_layer(&listed, &augmented[2], "");
		list_layer(&listed, &augmented[3], "");
		by_hand.model.base = by_hand.model.base_after = "";
		by_hand.model.base_trainable = true;
		by_hand.model.base_pooling = POOLING_NONE;
		by_hand.model.layer = listed.layer;
		by_hand.model.layers = listed.layers;
		graph = build(&config);
		wanted = build(&by_hand);
		assert_string_equal(graph.hash, wanted.hash);
		assert_int_equal(graph.nodes, wanted.nodes);
		for (uint32_t i = 0; i < graph.nodes; i++) {
			assert_string_equal(graph.node[i].name, wanted.node[i].name);
			assert_int_equal(graph.node[i].inputs, wanted.node[i].inputs);
			assert_memory_equal(graph.node[i].input, wanted.node[i].input,
					    graph.node[i].inputs * sizeof(graph.node[i].input[0]));
		}
		assert_string_equal(graph.node[2].name, BASE_PREPROCESSING);
		assert_int_equal(graph_at(&graph, graph.node[2].output)->shape[0], 48);
		graph_done(&graph);
		graph_done(&wanted);
		listed_done(&listed);
	}
}

static void test_after_refused(void **state)
{
	struct config config = augmented_config("resnet18", "random_flap");

	(void)state;
	refused(&config, "model.base_after: found \"random_flap\", allowed: a layer of model.layers; did you "
			 "mean \"random_flip\"?");
	augmented[1].attribute[0].i = 31;
	config = augmented_config("resnet18", "random_crop");
	refused(&config,
		"7: model.base_after: found the layer 'random_crop' of shape [31, 48, 3], allowed for "
		"resnet18: [height, width, 3], at least 32 high and wide");
	augmented[1].attribute[0].i = 48;
	config = augmented_config("resnet18", "softmax");
	refused(&config, "model.base_after: found the layer 'softmax'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_unfrozen_from),
		cmocka_unit_test(test_unfrozen_from_module),
		cmocka_unit_test(test_pooling_and_scaling),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_after_equals_written_by_hand),
		cmocka_unit_test(test_after_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
