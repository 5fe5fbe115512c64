/* SPDX-License-Identifier: Apache-2.0 */
#include "model/convert.h"

#include "model/base/base.h"
#include "model/bert_files.h"
#include "model/build.h"
#include "model/config_text.h"
#include "model/convert_torch.h"
#include "model/formats/names.h"
#include "model/formats/numbers.h"
#include "model/formats/safetensors.h"
#include "model/graph/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Ends of names of tensors that are no weights: counters of PyTorch, and the numbers of BERT's positions. */
static const char *const no_weights[] = { ".num_batches_tracked", "position_ids" };

/* One tensor of the base and the tensor that it comes from. */
struct pair {
	const struct node *node;
	const struct tensor *to;
	const struct model_tensor *from;
	const struct model_tensor *row; /* NULL, or a tensor whose first row is added to each row */
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
	char left_out_names[CONVERT_NAMES_BYTES];
	struct model_tensor *made;       /* NULL, or the tensor of each pair; owns their data */
	char (*module)[BASE_NAME_BYTES]; /* for each node of the base */
	uint32_t modules;
};

/* ---- The network ---- */

static int load_images(const char *base, struct config *ret_config, struct error *err)
{
	static const char form[] =
		"source: { url = \"file:///none\"; };\n"
		"sink: { url = \"file:///none\"; };\n"
		"schema = ( { name = \"image\"; dtype = \"uint8\"; shape = [ 224, 224, 3 ]; },\n"
		"           { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; } );\n"
		"model: { input = \"image\"; base = \"%.64s\"; base_pooling = \"avg\";\n"
		"         layers = ( { op = \"dense\"; units = 2; }, { op = \"softmax\"; } ); };\n";
	char text[sizeof(form) + 64];

	(void)snprintf(text, sizeof(text), form, base);
	return config_text_load(text, ret_config, err);
}

static int build(const char *base, const struct config_bert *bert, struct convert *convert, struct error *err)
{
	int r;

	if (!base_exists(base))
		return error_set(err, -EINVAL, "found the base \"%.64s\", allowed: %s", base, base_names());
	r = base_reads_texts(base) ? bert_config_load(bert, 1, 1, &convert->config, err)
				   : load_images(base, &convert->config, err);
	return r < 0 ? r : graph_build(&convert->config, false, &convert->graph, err);
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

/* Writes the name that the tensor has in the file. */
static void name_in_file(const struct convert *convert, uint32_t node, const struct tensor *to,
			 char out[static GRAPH_NAME_BYTES])
{
	if (convert->torch)
		torch_name(&convert->graph.node[node], convert->module[node], to, out);
	else
		(void)snprintf(out, GRAPH_NAME_BYTES, "%s", to->name);
}

/* Returns whether the names are those of bert in a file of Hugging Face. */
static bool has_bert_names(const struct convert *convert)
{
	return convert->torch && base_reads_texts(convert->config.model.base);
}

static const struct model_tensor *find(const struct convert *convert, const char *name)
{
	return has_bert_names(convert) ? bert_tensor(convert->tensor, convert->tensors, name)
				       : name_find(convert->tensor, convert->tensors, name);
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

static bool is_no_weight(const char *name)
{
	for (size_t i = 0; i < sizeof(no_weights) / sizeof(*no_weights); i++)
		if (ends(name, no_weights[i]))
			return true;
	return false;
}

/* Returns whether a tensor that no layer of the base has belongs to the classifier, or is no weight. */
static bool may_be_left_out(const struct convert *convert, const char *name)
{
	static const char *const keras_heads[] = { "fc1/", "fc2/", "predictions/", "probs/" };

	if (has_bert_names(convert))
		return bert_is_of_head(name) || is_no_weight(name);
	if (convert->torch)
		return begins(name, base_torch_head(convert->config.model.base)) || is_no_weight(name);
	for (size_t i = 0; i < sizeof(keras_heads) / sizeof(*keras_heads); i++)
		if (begins(name, keras_heads[i]))
			return true;
	return false;
}

/* ---- Shapes ---- */

static int check_pair(const struct convert *convert, const struct pair *pair, struct error *err)
{
	const struct model_tensor *from = pair->from;
	const struct tensor wanted = convert->torch ? torch_shape(pair->node, pair->to) : *pair->to;
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

/* Finds the vectors of the types of tokens: that of type 0 is added to those of the positions. */
static int match_types(struct convert *convert, struct pair *pair, struct error *err)
{
	const struct model_tensor *types = find(convert, BERT_TYPES);
	const uint64_t columns = pair->to->shape[1];

	if (!types)
		return error_set(err, -EINVAL, "%s: found no tensor '%s', which '%s' of %s needs",
				 convert->what, BERT_TYPES, pair->to->name, convert->config.model.base);
	if (types->rank != 2 || !types->shape[0] || types->shape[1] != columns ||
	    !numbers_are_floats(types->dtype))
		return error_set(
			err, -EINVAL,
			"%s: %s: found another shape or type, allowed: floats of shape [types, %" PRIu64 "]",
			convert->what, types->name, columns);
	convert->used[types - convert->tensor] = true;
	pair->row = types;
	return 0;
}

static int match(struct convert *convert, uint32_t node, uint32_t parameter, struct error *err)
{
	const struct node *of = &convert->graph.node[node];
	struct pair *pair = &convert->pair[convert->pairs];
	char name[GRAPH_NAME_BYTES];

	pair->to = graph_at(&convert->graph, of->parameter[parameter]);
	pair->node = of;
	name_in_file(convert, node, pair->to, name);
	pair->from = find(convert, name);
	if (!pair->from)
		return error_set(err, -EINVAL, "%s: found no tensor '%s', which '%s' of %s needs",
				 convert->what, name, pair->to->name, convert->config.model.base);
	convert->used[pair->from - convert->tensor] = true;
	convert->pairs++;
	if (check_pair(convert, pair, err) < 0)
		return err->code;
	return has_bert_names(convert) && !strcmp(of->op->name, "position_embedding")
		       ? match_types(convert, pair, err)
		       : 0;
}

static void leave_out(struct convert *convert, const char *name)
{
	const size_t used = strlen(convert->left_out_names);

	convert->left_out++;
	if (used + strlen(name) + sizeof(", , ...") <= sizeof(convert->left_out_names))
		(void)sprintf(convert->left_out_names + used, "%s%s", used ? ", " : "", name);
	else if (strcmp(convert->left_out_names + used - 3, "...") != 0)
		(void)strcat(convert->left_out_names, ", ...");
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
		if (!is_no_weight(name))
			leave_out(convert, name);
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

int convert_open(const char *base, const struct config_bert *bert, const char *what,
		 const struct model_tensor *tensors, uint32_t count, struct convert **ret_convert,
		 struct error *err)
{
	CLEANUP(convert_closep) struct convert *convert = calloc(1, sizeof(*convert));
	int r;

	if (!convert)
		return error_set(err, -ENOMEM, "%s: out of memory", what);
	convert->what = what;
	convert->tensor = tensors;
	convert->tensors = count;
	if ((r = build(base, bert, convert, err)) < 0)
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

const char *convert_left_out_names(const struct convert *convert)
{
	return convert->left_out_names;
}

bool convert_is_torch(const struct convert *convert)
{
	return convert->torch;
}

const char *convert_scaling(const struct convert *convert)
{
	const char *usual = base_scaling(&convert->config);

	return convert->torch && usual && !strcmp(usual, "caffe") ? "torch" : usual;
}

/* ---- Numbers ---- */

/* Reads number `i` of the pair, which is number `at` of the file's tensor. */
static int number_of(const struct convert *convert, const struct pair *pair, uint64_t i, uint64_t at,
		     float *ret_number, struct error *err)
{
	float more = 0;
	int r = numbers_at(pair->from, at, convert->what, ret_number, err);

	if (r < 0 || !pair->row)
		return r;
	r = numbers_at(pair->row, i % pair->to->shape[1], convert->what, &more, err);
	*ret_number += more;
	return r;
}

static int convert_pair(const struct convert *convert, const struct pair *pair,
			struct model_tensor *ret_tensor, struct error *err)
{
	const struct torch_order order = convert->torch ? torch_order(pair->node, pair->to)
							: (struct torch_order){ .layout = LAYOUT_SAME };
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
		r = number_of(convert, pair, i, torch_index(&order, i), &numbers[i], err);
	return r;
}

int convert_make(struct convert *convert, const struct model_tensor **ret_tensors, uint32_t *ret_count,
		 struct error *err)
{
	int r = 0;

	if (!convert->made)
		convert->made = calloc(convert->pairs + 1, sizeof(*convert->made));
	if (!convert->made)
		return error_set(err, -ENOMEM, "%s: out of memory", convert->what);
	for (uint32_t i = 0; r == 0 && i < convert->pairs; i++)
		if (!convert->made[i].data)
			r = convert_pair(convert, &convert->pair[i], &convert->made[i], err);
	*ret_tensors = convert->made;
	*ret_count = convert->pairs;
	return r;
}

int convert_write(struct convert *convert, const char *path, struct error *err)
{
	const char *scaling = convert_scaling(convert);
	const struct safetensors_note notes[] = { { "format", CONVERT_FORMAT },
						  { "base", convert->config.model.base },
						  { "base_scaling", scaling } };
	const struct model_tensor *tensors;
	uint32_t count;
	int r = convert_make(convert, &tensors, &count, err);

	return r < 0 ? r : safetensors_write(path, tensors, count, notes, scaling ? 3 : 2, err);
}

void convert_close(struct convert *convert)
{
	if (!convert)
		return;
	for (uint32_t i = 0; convert->made && i < convert->pairs; i++)
		free((void *)(uintptr_t)convert->made[i].data);
	free(convert->made);
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
