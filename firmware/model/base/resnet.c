/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ResNet (He et al., 2015): stages of blocks with a shortcut. resnet18 and resnet34 are torchvision's, of
 * blocks with two 3x3 convolutions. resnet50 is Keras's, of blocks 1x1, 3x3, 1x1: its convolutions have
 * biases, and the stride is in the first 1x1 convolution, while torchvision's has it in the 3x3, so the
 * weights of one do not fit the other.
 */
#include "model/base/writer.h"

#include <stdio.h>
#include <string.h>

#define STAGES 4u

/* ---- resnet18, resnet34 ---- */

static const uint32_t blocks18[STAGES] = { 2, 2, 2, 2 }, blocks34[STAGES] = { 3, 4, 6, 3 };

static void torch_conv(struct base_writer *writer, const char *name, uint32_t filters, uint32_t kernel,
		       uint32_t stride, const char *input)
{
	base_conv(writer, name,
		  &(struct base_conv){ .filters = filters,
				       .kernel = kernel,
				       .stride = stride,
				       .padding = stride == 1 ? "same" : "valid",
				       .initializer = "he_normal",
				       .input = input,
				       .module = name });
}

static void torch_norm(struct base_writer *writer, const char *name)
{
	base_norm(writer, name, &(struct base_norm){ .momentum = 0.9, .epsilon = 1e-5, .module = name });
}

/* Writes a block that reads the layer `x`, and sets `x` to the name of its output. */
static void torch_block(struct base_writer *writer, const char *prefix, uint32_t filters, uint32_t stride,
			bool projects, struct base_name *x)
{
	const struct base_name add = base_name(prefix, "add"), bn2 = base_name(prefix, "bn2"),
			       down = base_name(prefix, "downsample.1");

	if (stride > 1)
		base_pad(writer, base_name(prefix, "conv1_pad").text, 1);
	torch_conv(writer, base_name(prefix, "conv1").text, filters, 3, stride, NULL);
	torch_norm(writer, base_name(prefix, "bn1").text);
	base_plain(writer, "relu", base_name(prefix, "relu").text);
	torch_conv(writer, base_name(prefix, "conv2").text, filters, 3, 1, NULL);
	torch_norm(writer, bn2.text);
	if (projects) {
		torch_conv(writer, base_name(prefix, "downsample.0").text, filters, 1, stride, x->text);
		torch_norm(writer, down.text);
	}
	base_sum(writer, add.text, bn2.text, projects ? down.text : x->text);
	*x = base_name(prefix, "relu_1");
	base_plain(writer, "relu", x->text);
}

void base_write_torch_resnet(struct base_writer *writer, const char *name)
{
	const uint32_t *blocks = !strcmp(name, "resnet18") ? blocks18 : blocks34;
	struct base_name x = { "maxpool" };
	char prefix[BASE_NAME_BYTES];

	base_pad(writer, "conv1_pad", 3);
	torch_conv(writer, "conv1", 64, 7, 2, NULL);
	torch_norm(writer, "bn1");
	base_plain(writer, "relu", "relu");
	base_pad(writer, "maxpool_pad", 1);
	base_max_pool(writer, x.text, 3, 2);
	for (uint32_t s = 0; s < STAGES; s++)
		for (uint32_t b = 0; b < blocks[s]; b++) {
			const uint32_t stride = s > 0 && b == 0 ? 2 : 1;

			(void)snprintf(prefix, sizeof(prefix), "layer%u.%u.", s + 1, b);
			torch_block(writer, prefix, 64u << s, stride, stride > 1, &x);
		}
}

/* ---- resnet50 ---- */

static const uint32_t blocks50[STAGES] = { 3, 4, 6, 3 };

static void keras_conv(struct base_writer *writer, const char *prefix, const char *name, uint32_t filters,
		       const struct base_conv *like)
{
	struct base_conv conv = *like;

	conv.filters = filters;
	conv.stride = conv.stride ? conv.stride : 1;
	conv.padding = conv.kernel == 3 ? "same" : "valid";
	conv.bias = true;
	base_conv(writer, base_name(prefix, name).text, &conv);
}

static void keras_norm(struct base_writer *writer, const char *prefix, const char *name, const char *input)
{
	base_norm(writer, base_name(prefix, name).text,
		  &(struct base_norm){ .momentum = 0.99, .epsilon = 1.001e-5, .input = input });
}

static void keras_relu(struct base_writer *writer, const char *prefix, const char *name)
{
	base_plain(writer, "relu", base_name(prefix, name).text);
}

/* Writes a block that reads the layer `x`, in the order of Keras, and sets `x` to the name of its output. */
static void keras_block(struct base_writer *writer, const char *prefix, uint32_t filters, uint32_t stride,
			bool projects, struct base_name *x)
{
	const struct base_name projection = base_name(prefix, "0_conv"), last = base_name(prefix, "3_conv"),
			       shortcut = projects ? base_name(prefix, "0_bn") : *x,
			       relu2 = base_name(prefix, "2_relu");

	keras_conv(writer, prefix, "1_conv", filters,
		   &(struct base_conv){ .kernel = 1, .stride = stride, .input = x->text });
	keras_norm(writer, prefix, "1_bn", NULL);
	keras_relu(writer, prefix, "1_relu");
	keras_conv(writer, prefix, "2_conv", filters, &(struct base_conv){ .kernel = 3 });
	keras_norm(writer, prefix, "2_bn", NULL);
	keras_relu(writer, prefix, "2_relu");
	if (projects)
		keras_conv(writer, prefix, "0_conv", 4 * filters,
			   &(struct base_conv){ .kernel = 1, .stride = stride, .input = x->text });
	keras_conv(writer, prefix, "3_conv", 4 * filters,
		   &(struct base_conv){ .kernel = 1, .input = relu2.text });
	if (projects)
		keras_norm(writer, prefix, "0_bn", projection.text);
	keras_norm(writer, prefix, "3_bn", last.text);
	base_sum(writer, base_name(prefix, "add").text, shortcut.text, base_name(prefix, "3_bn").text);
	*x = base_name(prefix, "out");
	keras_relu(writer, prefix, "out");
}

void base_write_resnet50(struct base_writer *writer, const char *name)
{
	struct base_name x = { "pool1_pool" };
	char prefix[BASE_NAME_BYTES];

	(void)name;
	base_pad(writer, "conv1_pad", 3);
	keras_conv(writer, "", "conv1_conv", 64, &(struct base_conv){ .kernel = 7, .stride = 2 });
	keras_norm(writer, "", "conv1_bn", NULL);
	keras_relu(writer, "", "conv1_relu");
	base_pad(writer, "pool1_pad", 1);
	base_max_pool(writer, x.text, 3, 2);
	for (uint32_t s = 0; s < STAGES; s++)
		for (uint32_t b = 0; b < blocks50[s]; b++) {
			(void)snprintf(prefix, sizeof(prefix), "conv%u_block%u_", s + 2, b + 1);
			keras_block(writer, prefix, 64u << s, s > 0 && b == 0 ? 2 : 1, b == 0, &x);
		}
}
