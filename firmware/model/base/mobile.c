/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks of inverted residual blocks: a 1x1 convolution that expands, a depthwise convolution, a 1x1
 * convolution that projects. mobilenet_v2 (Sandler et al., 2018) is Keras's. efficientnet_lite0 is
 * EfficientNet B0 (Tan and Le, 2019) without squeeze and excitation and with relu6; layers are named as in
 * Keras's EfficientNetB0, modules as in the package efficientnet-lite-pytorch. Stochastic depth is left out.
 */
#include "model/base/writer.h"

#include <stdio.h>

/* The names of the layers of a block, after its prefix; then those of the modules of PyTorch, or NULL. */
struct style {
	const char *expand, *expand_norm, *expand_relu;
	const char *depthwise, *depthwise_norm, *depthwise_relu;
	const char *project, *project_norm, *sum;
	bool torch;
	double momentum;
	const char *initializer;
};

struct stage {
	uint32_t kernel, expansion, filters, repeats, stride;
};

/* One block. `prefix` begins the names of its layers, `module` those of its modules. */
struct block {
	char prefix[BASE_NAME_BYTES], module[BASE_NAME_BYTES];
	uint32_t kernel, expanded, filters, stride;
	bool expands, adds;
};

static const struct style keras_v2 = { "expand",    "expand_BN",    "expand_relu",
				       "depthwise", "depthwise_BN", "depthwise_relu",
				       "project",   "project_BN",   "add",
				       false,       0.999,          NULL };
static const struct style lite = { "expand_conv", "expand_bn",    "expand_activation", "dwconv", "bn",
				   "activation",  "project_conv", "project_bn",        "add",    true,
				   0.99,          "he_normal" };

static const struct stage stages_v2[] = { { 3, 1, 16, 1, 1 }, { 3, 6, 24, 2, 2 }, { 3, 6, 32, 3, 2 },
					  { 3, 6, 64, 4, 2 }, { 3, 6, 96, 3, 1 }, { 3, 6, 160, 3, 2 },
					  { 3, 6, 320, 1, 1 } };
static const struct stage stages_lite0[] = { { 3, 1, 16, 1, 1 }, { 3, 6, 24, 2, 2 },  { 5, 6, 40, 2, 2 },
					     { 3, 6, 80, 3, 2 }, { 5, 6, 112, 3, 1 }, { 5, 6, 192, 4, 2 },
					     { 3, 6, 320, 1, 1 } };
#define STAGES 7u
_Static_assert(sizeof(stages_v2) / sizeof(*stages_v2) == STAGES, "a row for each stage");
_Static_assert(sizeof(stages_lite0) / sizeof(*stages_lite0) == STAGES, "a row for each stage");

static void conv(struct base_writer *writer, const struct style *style, const char *name, const char *module,
		 const struct base_conv *like)
{
	struct base_conv made = *like;

	made.padding = "same";
	made.initializer = style->initializer;
	made.module = style->torch ? module : NULL;
	base_conv(writer, name, &made);
}

static void norm(struct base_writer *writer, const struct style *style, const char *name, const char *module)
{
	base_norm(writer, name,
		  &(struct base_norm){ .momentum = style->momentum,
				       .epsilon = 1e-3,
				       .module = style->torch ? module : NULL });
}

/* Writes a block that reads the layer `x`, and sets `x` to the name of its output. */
static void write_block(struct base_writer *writer, const struct style *style, const struct block *block,
			struct base_name *x)
{
	const char *prefix = block->prefix, *module = block->module;
	const struct base_name projected = base_name(prefix, style->project_norm),
			       sum = base_name(prefix, style->sum);

	if (block->expands) {
		conv(writer, style, base_name(prefix, style->expand).text,
		     base_name(module, "_expand_conv").text,
		     &(struct base_conv){ .filters = block->expanded, .kernel = 1, .stride = 1 });
		norm(writer, style, base_name(prefix, style->expand_norm).text,
		     base_name(module, "_bn0").text);
		base_plain(writer, "relu6", base_name(prefix, style->expand_relu).text);
	}
	conv(writer, style, base_name(prefix, style->depthwise).text,
	     base_name(module, "_depthwise_conv").text,
	     &(struct base_conv){ .kernel = block->kernel, .stride = block->stride });
	norm(writer, style, base_name(prefix, style->depthwise_norm).text, base_name(module, "_bn1").text);
	base_plain(writer, "relu6", base_name(prefix, style->depthwise_relu).text);
	conv(writer, style, base_name(prefix, style->project).text, base_name(module, "_project_conv").text,
	     &(struct base_conv){ .filters = block->filters, .kernel = 1, .stride = 1 });
	norm(writer, style, projected.text, base_name(module, "_bn2").text);
	if (block->adds)
		base_sum(writer, sum.text, x->text, projected.text);
	*x = block->adds ? sum : projected;
}

/* Writes the blocks of all stages after a stem of 32 channels. `call` writes the names of a block. */
static void write_stages(struct base_writer *writer, const struct style *style, const struct stage *stages,
			 struct base_name x,
			 void (*call)(struct block *block, uint32_t stage, uint32_t repeat, uint32_t index))
{
	uint32_t channels = 32, index = 0;

	for (uint32_t s = 0; s < STAGES; s++)
		for (uint32_t r = 0; r < stages[s].repeats; r++, index++) {
			struct block block = { .kernel = stages[s].kernel,
					       .expanded = channels * stages[s].expansion,
					       .filters = stages[s].filters,
					       .stride = r == 0 ? stages[s].stride : 1,
					       .expands = stages[s].expansion > 1,
					       .adds = r > 0 };

			call(&block, s, r, index);
			write_block(writer, style, &block, &x);
			channels = stages[s].filters;
		}
}

static void name_v2(struct block *block, uint32_t stage, uint32_t repeat, uint32_t index)
{
	(void)stage;
	(void)repeat;
	if (index)
		(void)snprintf(block->prefix, sizeof(block->prefix), "block_%u_", index);
	else
		(void)snprintf(block->prefix, sizeof(block->prefix), "expanded_conv_");
}

static void name_lite(struct block *block, uint32_t stage, uint32_t repeat, uint32_t index)
{
	(void)snprintf(block->prefix, sizeof(block->prefix), "block%u%c_", stage + 1, 'a' + (int)repeat);
	(void)snprintf(block->module, sizeof(block->module), "_blocks.%u.", index);
}

void base_write_mobilenet_v2(struct base_writer *writer, const char *name)
{
	(void)name;
	conv(writer, &keras_v2, "Conv1", "", &(struct base_conv){ .filters = 32, .kernel = 3, .stride = 2 });
	norm(writer, &keras_v2, "bn_Conv1", "");
	base_plain(writer, "relu6", "Conv1_relu");
	write_stages(writer, &keras_v2, stages_v2, base_name("", "Conv1_relu"), name_v2);
	conv(writer, &keras_v2, "Conv_1", "",
	     &(struct base_conv){ .filters = 1280, .kernel = 1, .stride = 1 });
	norm(writer, &keras_v2, "Conv_1_bn", "");
	base_plain(writer, "relu6", "out_relu");
}

void base_write_efficientnet_lite0(struct base_writer *writer, const char *name)
{
	(void)name;
	conv(writer, &lite, "stem_conv", "_conv_stem",
	     &(struct base_conv){ .filters = 32, .kernel = 3, .stride = 2 });
	norm(writer, &lite, "stem_bn", "_bn0");
	base_plain(writer, "relu6", "stem_activation");
	write_stages(writer, &lite, stages_lite0, base_name("", "stem_activation"), name_lite);
	conv(writer, &lite, "top_conv", "_conv_head",
	     &(struct base_conv){ .filters = 1280, .kernel = 1, .stride = 1 });
	norm(writer, &lite, "top_bn", "_bn1");
	base_plain(writer, "relu6", "top_activation");
}
