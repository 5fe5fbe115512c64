/* SPDX-License-Identifier: Apache-2.0 */
#include "model/convert.h"

#include "model/base/base.h"
#include "model/build.h"
#include "model/config_text.h"
#include "model/formats/names.h"
#include "model/formats/numbers.h"
#include "model/formats/safetensors.h"
#include "model/graph/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNTER ".num_batches_tracked"

/* One tensor of the base and the tensor that it comes from. */
struct pair {
	const struct tensor *to;
	const struct model_tensor *from;
	bool depthwise;
};

struct convert {
	const char *what;
	struct config config;
	struct graph graph;
	const struct model_tensor *tensor; /* of the file */
	uint32_t tensors;
	bool torch, *used; /* `used`: for each tensor of the file */
	struct pair *pair;
	uint32_t pairs, left_out;
	char (*module)[BASE_NAME_BYTES]; /* for each node of the base */
	uint32_t modules;
};

/* ---- The network ---- */

static int build(const char *base, struct convert *convert, struct error *err)
{
	static const char form[] =
		"source: { url = \"file:///none\"; };\n"
		"sink: { url = \"file:///none\"; };\n"
		"schema = ( { name = \"image\"; dtype = \"uint8\"; shape = [ 224, 224, 3 ]; },\n"
		"           { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; } );\n"
		"model: { input = \"image\"; base = \"%.64s\"; base_pooling = \"avg\";\n"
		"         layers = ( { op = \"dense\"; units = 2; }, { op = \"softmax\"; } ); };\n";
	char text[sizeof(form) + 64];

	if (!base_exists(base))
		return error_set(err, -EINVAL, "found the base \"%.64s\", allowed: %s", base, base_names());
	(void)snprintf(text, sizeof(text), form, base);
	if (config_text_load(text, &convert->config, err) < 0)
		return -EINVAL;
	return graph_build(&convert->config, false, &convert->graph, err);
}

static void note_module(void *context, const struct config_layer *layer, const char *module)
{
	struct convert *convert = context;
	const struct node *node;

	/* The nodes of the graph are the layers of the base, with the nodes of `activation` between them. */
	do
		node = &convert->graph.node[convert->modules++];
	while (strcmp(node->name, layer->name) != 0);
	(void)snprintf(convert->module[convert->modules - 1], BASE_NAME_BYTES, "%s", module);
}

/* ---- Names ---- */

/* Returns PyTorch's name of a parameter after that of its module. */
static const char *torch_suffix(const char *parameter)
{
	static const struct {
		const char *kiln, *torch;
	} names[] = { { "kernel", ".weight" },
		      { "gamma", ".weight" },
		      { "beta", ".bias" },
		      { "bias", ".bias" },
		      { "moving_mean", ".running_mean" },
		      { "moving_variance", ".running_var" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].kiln, parameter))
			return names[i].torch;
	return "";
}

/* Writes the name that the tensor has in the file. */
static void name_in_file(const struct convert *convert, uint32_t node, const struct tensor *to,
			 char out[static GRAPH_NAME_BYTES])
{
	if (convert->torch)
		(void)snprintf(out, GRAPH_NAME_BYTES, "%s%s", convert->module[node],
			       torch_suffix(strrchr(to->name, '/') + 1));
	else
		(void)snprintf(out, GRAPH_NAME_BYTES, "%s", to->name);
}

static bool begins(const char *name, const char *with)
{
	return with && !strncmp(name, with, strlen(with));
}

static bool ends(const char *name, const char *with)
{
	const size_t length = strlen(name), more = strlen(with);

	return length >= more && !strcmp(name + length - more, with);
}

/* Returns whether a tensor that no layer of the base has belongs to the classifier, or only counts batches.
 */
static bool may_be_left_out(const struct convert *convert, const char *name)
{
	static const char *const keras_heads[] = { "fc1/", "fc2/", "predictions/", "probs/" };

	if (convert->torch)
		return begins(name, base_torch_head(convert->config.model.base)) || ends(name, COUNTER);
	for (size_t i = 0; i < sizeof(keras_heads) / sizeof(*keras_heads); i++)
		if (begins(name, keras_heads[i]))
			return true;
	return false;
}

/* ---- Shapes ---- */

/* Writes the shape that the tensor has in the file. */
static struct tensor shape_in_file(const struct convert *convert, const struct pair *pair)
{
	struct tensor shape = *pair->to;
	const uint64_t *to = pair->to->shape;

	if (!convert->torch || shape.rank != 4)
		return shape;
	shape.shape[0] = to[pair->depthwise ? 2 : 3];
	shape.shape[1] = to[pair->depthwise ? 3 : 2];
	shape.shape[2] = to[0];
	shape.shape[3] = to[1];
	return shape;
}

static int check_pair(const struct convert *convert, const struct pair *pair, struct error *err)
{
	const struct model_tensor *from = pair->from;
	const struct tensor wanted = shape_in_file(convert, pair);
	struct tensor found = { .rank = from->rank };
	char text[SHAPE_TEXT_BYTES], allowed[SHAPE_TEXT_BYTES];

	memcpy(found.shape, from->shape, sizeof(found.shape));
	if (!numbers_are_floats(from->dtype))
		return error_set(err, -EBADMSG, "%s: %s: found %s, allowed: F16, BF16, F32, F64",
				 convert->what, from->name, from->dtype);
	if (!tensor_same_shape(&found, &wanted))
		return error_set(err, -EINVAL, "%s: %s: found the shape %s, allowed for '%s' of %s: %s",
				 convert->what, from->name, shape_text(&found, text), pair->to->name,
				 convert->config.model.base, shape_text(&wanted, allowed));
	return 0;
}

/* ---- Matching ---- */

static int match(struct convert *convert, uint32_t node, uint32_t parameter, struct error *err)
{
	const struct node *of = &convert->graph.node[node];
	struct pair *pair = &convert->pair[convert->pairs];
	char name[GRAPH_NAME_BYTES];

	pair->to = graph_at(&convert->graph, of->parameter[parameter]);
	pair->depthwise = !strcmp(of->op->name, "depthwise_conv2d");
	name_in_file(convert, node, pair->to, name);
	pair->from = name_find(convert->tensor, convert->tensors, name);
	if (!pair->from)
		return error_set(err, -EINVAL, "%s: found no tensor '%s', which '%s' of %s needs",
				 convert->what, name, pair->to->name, convert->config.model.base);
	convert->used[pair->from - convert->tensor] = true;
	convert->pairs++;
	return check_pair(convert, pair, err);
}

static int refuse_others(struct convert *convert, struct error *err)
{
	for (uint32_t i = 0; i < convert->tensors; i++) {
		const char *name = convert->tensor[i].name;

		if (convert->used[i])
			continue;
		if (!may_be_left_out(convert, name))
			return error_set(err, -EINVAL, "%s: found the tensor '%s', which no layer of %s has",
					 convert->what, name, convert->config.model.base);
		convert->left_out += !ends(name, COUNTER);
	}
	return 0;
}

/* Decides whose names the file has. Names of Keras have a '/', those of PyTorch modules have none. */
static int choose_names(struct convert *convert, struct error *err)
{
	convert->torch = true;
	for (uint32_t i = 0; i < convert->tensors; i++)
		if (strchr(convert->tensor[i].name, '/'))
			convert->torch = false;
	if (convert->torch && !base_torch_head(convert->config.model.base))
		return error_set(
			err, -EINVAL,
			"%s: found names of PyTorch, allowed for %s: those of Keras, because the %s of "
			"torchvision is another network",
			convert->what, convert->config.model.base, convert->config.model.base);
	return 0;
}

static int match_all(struct convert *convert, struct error *err)
{
	struct mistakes none = { .file = "", .err = err };
	int r = choose_names(convert, err);

	if (r < 0)
		return r;
	base_expand(&convert->config, note_module, convert, &none);
	for (uint32_t n = 0; r == 0 && n < convert->modules; n++)
		for (uint32_t p = 0; r == 0 && p < convert->graph.node[n].parameters; p++)
			if (convert->graph.node[n].parameter[p] != GRAPH_NO_TENSOR)
				r = match(convert, n, p, err);
	return r < 0 ? r : refuse_others(convert, err);
}

int convert_open(const char *base, const char *what, const struct model_tensor *tensors, uint32_t count,
		 struct convert **ret_convert, struct error *err)
{
	CLEANUP(convert_closep) struct convert *convert = calloc(1, sizeof(*convert));
	int r;

	if (!convert)
		return error_set(err, -ENOMEM, "%s: out of memory", what);
	convert->what = what;
	convert->tensor = tensors;
	convert->tensors = count;
	if ((r = build(base, convert, err)) < 0)
		return r;
	convert->used = calloc(count + 1, sizeof(*convert->used));
	convert->pair = calloc(convert->graph.tensors + 1, sizeof(*convert->pair));
	convert->module = calloc(convert->graph.nodes + 1, sizeof(*convert->module));
	if (!convert->used || !convert->pair || !convert->module)
		return error_set(err, -ENOMEM, "%s: out of memory", what);
	if ((r = match_all(convert, err)) < 0)
		return r;
	*ret_convert = TAKE(convert);
	return 0;
}

uint32_t convert_tensors(const struct convert *convert)
{
	return convert->pairs;
}

uint32_t convert_left_out(const struct convert *convert)
{
	return convert->left_out;
}

bool convert_is_torch(const struct convert *convert)
{
	return convert->torch;
}

const char *convert_scaling(const struct convert *convert)
{
	const char *usual = base_scaling(&convert->config);

	return convert->torch && !strcmp(usual, "caffe") ? "torch" : usual;
}

/* ---- Numbers ---- */

/* Returns the index in the file of number `i` of the tensor. */
static uint64_t index_in_file(const struct convert *convert, const struct pair *pair, uint64_t i)
{
	const uint64_t *to = pair->to->shape, last = pair->to->rank == 4 ? to[3] : 1,
		       in = pair->to->rank == 4 ? to[2] : 1;
	const uint64_t at = i / last / in, out = i % last, of = i / last % in;

	if (!convert->torch || pair->to->rank != 4)
		return i;
	return ((pair->depthwise ? of * last + out : out * in + of) * to[0] * to[1]) + at;
}

static int convert_pair(const struct convert *convert, const struct pair *pair,
			struct model_tensor *ret_tensor, struct error *err)
{
	const uint64_t count = pair->to->elements;
	float *numbers = malloc(count * sizeof(*numbers));
	int r = 0;

	if (!numbers)
		return error_set(err, -ENOMEM, "%s: %s: out of memory", convert->what, pair->to->name);
	ret_tensor->name = pair->to->name;
	ret_tensor->dtype = "F32";
	ret_tensor->rank = pair->to->rank;
	memcpy(ret_tensor->shape, pair->to->shape, sizeof(ret_tensor->shape));
	ret_tensor->data = numbers;
	ret_tensor->bytes = count * sizeof(*numbers);
	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = numbers_at(pair->from, index_in_file(convert, pair, i), convert->what, &numbers[i], err);
	return r;
}

int convert_write(const struct convert *convert, const char *path, struct error *err)
{
	const struct safetensors_note notes[] = { { "format", CONVERT_FORMAT },
						  { "base", convert->config.model.base },
						  { "base_scaling", convert_scaling(convert) } };
	struct model_tensor *tensors = calloc(convert->pairs + 1, sizeof(*tensors));
	int r = tensors ? 0 : error_set(err, -ENOMEM, "%s: out of memory", convert->what);

	for (uint32_t i = 0; r == 0 && i < convert->pairs; i++)
		r = convert_pair(convert, &convert->pair[i], &tensors[i], err);
	if (r == 0)
		r = safetensors_write(path, tensors, convert->pairs, notes, sizeof(notes) / sizeof(*notes),
				      err);
	for (uint32_t i = 0; tensors && i < convert->pairs; i++)
		free((void *)(uintptr_t)tensors[i].data);
	free(tensors);
	return r;
}

void convert_close(struct convert *convert)
{
	if (!convert)
		return;
	graph_done(&convert->graph);
	config_done(&convert->config);
	free(convert->used);
	free(convert->pair);
	free(convert->module);
	free(convert);
}

void convert_closep(struct convert **convert)
{
	convert_close(*convert);
}
