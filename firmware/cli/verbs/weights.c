/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/verbs/verbs.h"
#include "model/base/base.h"
#include "model/convert.h"
#include "model/formats/safetensors.h"

#include <inttypes.h>

static void say(const char *base, const char *output, const struct convert *convert)
{
	printf("%s: %" PRIu32 " tensors of %s, from %s's names; %" PRIu32 " of the classifier left out\n",
	       output, convert_tensors(convert), base, convert_is_torch(convert) ? "PyTorch" : "Keras",
	       convert_left_out(convert));
	printf("model: { base = \"%s\"; base_scaling = \"%s\"; weights = \"...\"; }\n", base,
	       convert_scaling(convert));
}

static int run(const char *input, const char *base, const char *output, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	CLEANUP(convert_closep) struct convert *convert = NULL;
	const struct model_tensor *tensors;
	uint32_t count;
	int r = safetensors_open(input, &file, err);

	if (r < 0)
		return r;
	tensors = safetensors_tensors(file, &count);
	r = convert_open(base, input, tensors, count, &convert, err);
	if (r == 0)
		r = convert_write(convert, output, err);
	if (r == 0)
		say(base, output, convert);
	return r;
}

static int convert_verb(const struct arguments *arguments)
{
	const char *base = arguments_text(arguments, "base");
	struct error err = { 0 };

	if (!base)
		return cli_usage(arguments->name, "--base is missing, allowed: %s", base_names());
	return run(arguments_operand(arguments, 0), base, arguments_operand(arguments, 1), &err) < 0
		       ? cli_error(&err)
		       : CLI_OK;
}

static const struct verb_operand operands[] = {
	{ .name = "IN", .value = VERB_FILE },
	{ .name = "OUT", .value = VERB_FILE },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "base",
	  .value = VERB_NAME,
	  .argument = "NAME",
	  .min = 1,
	  .max = 64,
	  .help = "the base network that the weights are of; must be given" },
	{ 0 },
};

static const struct verb weights_convert = {
	.name = "convert",
	.summary = "turn weights of PyTorch or Keras into those of a base network",
	.synopsis = "weights convert IN --base NAME OUT",
	.about = "Reads the safetensors file IN with the weights of a known image network, and writes a "
		 "safetensors file OUT with the names and layouts of the layers of model.base, for "
		 "model.weights. IN has the names and layouts of PyTorch (vgg16, vgg19, resnet18, resnet34: "
		 "torchvision's; efficientnet_lite0: those of efficientnet-lite-pytorch) or of Keras. A "
		 "tensor "
		 "that is missing, that no layer has, or that has another shape is refused. Tensors of the "
		 "classifier are left out. tools/weights in Kiln's sources makes IN from .pth and .h5 "
		 "files.\n\n"
		 "The verb prints the model.base_scaling that the weights belong to.",
	.operands = operands,
	.options = { options },
	.run = convert_verb,
};

static const struct verb *const subs[] = { &weights_convert, NULL };

const struct verb verb_weights = {
	.name = "weights",
	.summary = "turn weights of other programs into those of a base network",
	.subs = subs,
	.here = true,
};
