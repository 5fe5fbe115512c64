/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/verbs/verbs.h"
#include "model/base/base.h"
#include "model/bert_files.h"
#include "model/convert.h"
#include "model/formats/safetensors.h"

#include <inttypes.h>
#include <stdio.h>

/* The size of bert, from config.json; unused by the other bases. */
struct size {
	bool is_bert;
	struct config_bert bert;
};

static void say(const char *base, const struct size *size, const char *output, const struct convert *convert)
{
	const char *left_out = convert_left_out_names(convert);
	char keys[BERT_KEYS_BYTES];

	printf("%s: %" PRIu32 " tensors of %s, from %s's names; %" PRIu32 " of the classifier left out%s%s\n",
	       output, convert_tensors(convert), base, convert_is_torch(convert) ? "PyTorch" : "Keras",
	       convert_left_out(convert), *left_out ? ": " : "", left_out);
	if (size->is_bert)
		printf("model: { base = \"%s\"; %s weights = \"...\"; }\n", base,
		       bert_keys(&size->bert, keys));
	else
		printf("model: { base = \"%s\"; base_scaling = \"%s\"; weights = \"...\"; }\n", base,
		       convert_scaling(convert));
}

/* Reads config.json of the folder IN, and finds the file with the weights in it. */
static int read_folder(const char *input, struct size *size, char **ret_weights, struct error *err)
{
	if (asprintf(ret_weights, "%s/" BERT_WEIGHTS_NAME, input) < 0)
		return error_set(err, -ENOMEM, "%s: out of memory", input);
	size->is_bert = true;
	return bert_config_read(input, &size->bert, err);
}

static int run(const char *input, const char *base, const char *output, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	CLEANUP(convert_closep) struct convert *convert = NULL;
	CLEANUP(free_ptr) char *in_folder = NULL;
	struct size size = { 0 };
	const struct model_tensor *tensors;
	uint32_t count;
	int r = base_reads_texts(base) ? read_folder(input, &size, &in_folder, err) : 0;

	if (r < 0)
		return r;
	input = in_folder ? in_folder : input;
	if ((r = safetensors_open(input, &file, err)) < 0)
		return r;
	tensors = safetensors_tensors(file, &count);
	r = convert_open(base, &size.bert, input, tensors, count, &convert, err);
	if (r == 0)
		r = convert_write(convert, output, err);
	if (r == 0)
		say(base, &size, output, convert);
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
	.about = "Reads the safetensors file IN with the weights of a known network, and writes a "
		 "safetensors file OUT with the names and layouts of the layers of model.base, for "
		 "model.weights. IN has the names and layouts of PyTorch (vgg16, vgg19, resnet18, resnet34: "
		 "torchvision's; efficientnet_lite0: those of efficientnet-lite-pytorch) or of Keras. A "
		 "tensor "
		 "that is missing, that no layer has, or that has another shape is refused. Tensors of the "
		 "classifier are left out. tools/weights in Kiln's sources makes IN from .pth and .h5 "
		 "files.\n\n"
		 "For the base bert, IN is a folder with config.json and model.safetensors of Hugging "
		 "Face.\n\n"
		 "The verb prints the keys of the group model that the weights belong to: "
		 "model.base_scaling, or the size of bert.",
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
