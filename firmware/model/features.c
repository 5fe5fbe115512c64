/* SPDX-License-Identifier: Apache-2.0 */
#include "model/features.h"

#include "model/build.h"
#include "model/checkpoint.h"
#include "model/config_text.h"
#include "model/formats/expect.h"
#include "model/formats/names.h"
#include "model/formats/numbers.h"
#include "model/graph/random.h"

#include <inttypes.h>
#include <string.h>

static bool is_weight(const struct tensor *tensor)
{
	return tensor->arena == ARENA_STATE && (tensor->role == ROLE_PARAMETER || tensor->role == ROLE_STATE);
}

/* ---- The file of the base ---- */

struct base_file {
	const struct weights *weights;
	const char *what;
	struct model_tensor *tensor; /* owns the data */
	uint32_t tensors;
};

static void base_file_done(struct base_file *base)
{
	for (uint32_t i = 0; i < base->tensors; i++)
		free((void *)(uintptr_t)base->tensor[i].data);
	free(base->tensor);
}

/* Adds a tensor of float32 without its numbers, and returns the place for them. NULL: no memory. */
static float *add_tensor(struct base_file *base, const char *name, uint32_t rank, const uint64_t *shape,
			 uint64_t count)
{
	struct model_tensor *tensor = &base->tensor[base->tensors];
	float *numbers = malloc(count * sizeof(*numbers));

	if (!numbers)
		return NULL;
	*tensor = (struct model_tensor){
		.name = name, .dtype = "F32", .rank = rank, .data = numbers, .bytes = count * sizeof(*numbers)
	};
	memcpy(tensor->shape, shape, rank * sizeof(*shape));
	base->tensors++;
	return numbers;
}

static int add_pair(struct base_file *base, const struct weights_pair *pair, struct error *err)
{
	const uint64_t count = numbers_count(&pair->from);
	float *numbers = add_tensor(base, pair->name, pair->from.rank, pair->from.shape, count);
	int r = numbers ? 0 : error_set(err, -ENOMEM, "%s: %s: out of memory", base->what, pair->name);

	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = numbers_at(&pair->from, i, base->what, &numbers[i], err);
	return r;
}

static int add_initial(struct base_file *base, const struct graph *graph, const struct tensor *tensor,
		       struct error *err)
{
	float *numbers = add_tensor(base, tensor->name, tensor->rank, tensor->shape, tensor->elements);

	if (!numbers)
		return error_set(err, -ENOMEM, "%s: out of memory", tensor->name);
	initializer_fill(tensor->initializer, graph->config->run.seed, tensor->name, tensor->rank,
			 tensor->shape, tensor->elements, numbers);
	return 0;
}

/* Fills the list: the tensors of the weights, then those of the base that the weights lack. */
static int list_tensors(struct base_file *base, const struct graph *graph, struct error *err)
{
	const uint32_t pairs = base->weights ? base->weights->matched : 0;
	int r = 0;

	base->tensor = calloc(graph->tensors + pairs, sizeof(*base->tensor));
	if (!base->tensor)
		return error_set(err, -ENOMEM, "%s: out of memory", FEATURES_BASE_FILE);
	for (uint32_t i = 0; r == 0 && i < pairs; i++)
		r = add_pair(base, &base->weights->pair[i], err);
	for (uint32_t i = 0; r == 0 && i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);

		if (is_weight(tensor) && !name_find(base->tensor, base->tensors, tensor->name))
			r = add_initial(base, graph, tensor, err);
	}
	return r;
}

int features_write_base(const struct config *config, const struct weights *weights, const char *what,
			const char *path, struct error *err)
{
	CLEANUP(base_file_done) struct base_file base = { .weights = weights, .what = what };
	CLEANUP(graph_done) struct graph graph = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	int r = graph_build_base(config, &graph, err);

	if (r < 0 || (r = list_tensors(&base, &graph, err)) < 0 || (r = config_print(config, &text, err)) < 0)
		return r;
	{
		const struct safetensors_note notes[] = {
			{ "format", FEATURES_FORMAT },
			{ "version", FEATURES_VERSION },
			{ "base", config->model.base },
			{ "layers_hash", graph.layers_hash },
			{ "config", text },
		};

		return safetensors_write(path, base.tensor, base.tensors, notes,
					 sizeof(notes) / sizeof(notes[0]), err);
	}
}

/* ---- Base and head together ---- */

static int check_file(const struct config *run, const char *what, const struct safetensors *file,
		      struct error *err)
{
	int r = checkpoint_expect(what, file, "format", FEATURES_FORMAT, err);

	if (r == 0)
		r = checkpoint_expect(what, file, "version", FEATURES_VERSION, err);
	if (r == 0)
		r = checkpoint_expect(what, file, "base", run->model.features_of, err);
	if (r < 0)
		return error_prefix(err, "model.features_of");
	return safetensors_require_crcs(file, err);
}

/* Checks that the output of the base is the feature that the head reads. */
static int check_output(const struct config *run, const char *what, const struct graph *base,
			struct error *err)
{
	const struct config_feature *feature = config_feature_named(run, run->model.input);
	const struct tensor *output = graph_at(base, base->output);
	struct tensor found = { .rank = feature ? feature->rank : 0 };
	char text[SHAPE_TEXT_BYTES], allowed[SHAPE_TEXT_BYTES];

	if (feature)
		memcpy(found.shape, feature->shape, sizeof(found.shape));
	if (feature && feature->dtype == CONFIG_FLOAT32 && !feature->values_max &&
	    tensor_same_shape(&found, output))
		return 0;
	return error_set(
		err, -EINVAL,
		"model.input: found '%s' of shape %s, expected with model.features_of a float32 feature of "
		"shape %s, which is the output of %s in %s",
		run->model.input, shape_text(&found, text), shape_text(output, allowed),
		run->model.features_of, what);
}

/* Makes the configuration of base and head: pictures, their source and splits as the base read them, all else
 * as in the run. Its strings belong to the two others; `layer` has room for the layers of the run. */
static struct config join(const struct config *run, const struct config *of_base, const char *output,
			  struct config_layer *layer)
{
	struct config joined = *run;

	joined.sources = of_base->sources;
	memcpy(joined.source, of_base->source, sizeof(joined.source));
	joined.split = of_base->split;
	joined.order = of_base->order;
	joined.order.lanes = run->order.lanes;
	joined.features = of_base->features;
	memcpy(joined.feature, of_base->feature, sizeof(joined.feature));
	joined.model.input = of_base->model.input;
	joined.model.base = of_base->model.base;
	joined.model.base_after = "";
	joined.model.base_trainable = false;
	joined.model.base_unfreeze_from = "";
	joined.model.base_pooling = of_base->model.base_pooling;
	joined.model.base_scaling = of_base->model.base_scaling;
	joined.model.features_of = "";
	joined.model.layer = layer;
	memcpy(layer, run->model.layer, run->model.layers * sizeof(*layer));
	for (uint32_t i = 0; i < run->model.layers; i++)
		for (uint32_t k = 0; k < layer[i].inputs; k++)
			if (strcmp(layer[i].input[k], run->model.input) == 0)
				layer[i].input[k] = output;
	return joined;
}

/* Prints the joined configuration and loads it: so everything is checked again, and the text has every key.
 */
static int load_joined(const struct config *run, const struct config *of_base, const struct graph *base,
		       struct features *features, struct error *err)
{
	CLEANUP(free_ptr) struct config_layer *layer = calloc(run->model.layers, sizeof(*layer));
	CLEANUP(free_ptr) char *text = NULL;
	struct config joined;
	int r;

	if (!layer)
		return error_set(err, -ENOMEM, "no memory for %" PRIu32 " layers", run->model.layers);
	joined = join(run, of_base, base->node[base->nodes - 1].name, layer);
	if ((r = config_print(&joined, &text, err)) < 0 ||
	    (r = config_text_load(text, &features->config, err)) < 0 ||
	    (r = config_print(&features->config, &features->text, err)) < 0)
		return r;
	features->config.model.precision = PRECISION_FLOAT32;
	features->config.model.tensor_float_32 = false;
	return graph_build(&features->config, false, &features->graph, err);
}

int features_open(const struct config *run, const char *what, const struct safetensors *file,
		  struct features *ret_features, struct error *err)
{
	CLEANUP(config_done) struct config of_base = { 0 };
	CLEANUP(graph_done) struct graph base = { 0 };
	const struct model_tensor *tensors;
	uint32_t count;
	const char *text;
	int r = check_file(run, what, file, err);

	if (r < 0)
		return r;
	ret_features->file = file;
	text = safetensors_value(file, "config");
	if (!text)
		return error_set(err, -EBADMSG,
				 "%s: config: found nothing, expected the configuration of the base", what);
	tensors = safetensors_tensors(file, &count);
	if ((r = config_text_load(text, &of_base, err)) < 0 ||
	    (r = graph_build_base(&of_base, &base, err)) < 0 ||
	    (r = expect_tensors(&base, EXPECT_PARAMETERS, what, tensors, count, err)) < 0 ||
	    (r = check_output(run, what, &base, err)) < 0)
		return r;
	r = load_joined(run, &of_base, &base, ret_features, err);
	return r < 0 ? error_prefix(err, "%s before the layers of this run", what) : 0;
}

int features_check(const struct config *run, const char *what, const struct safetensors *file,
		   struct error *err)
{
	CLEANUP(features_done) struct features features = { 0 };

	return *run->model.features_of ? features_open(run, what, file, &features, err) : 0;
}

int features_tensors(const struct features *features, const struct model_tensor *head, uint32_t count,
		     struct model_tensor **ret_tensors, uint32_t *ret_count, struct error *err)
{
	const struct graph *graph = &features->graph;
	CLEANUP(free_ptr) struct model_tensor *list = calloc(graph->tensors, sizeof(*list));
	uint32_t of_base, used = 0;
	const struct model_tensor *base = safetensors_tensors(features->file, &of_base);

	if (!list)
		return error_set(err, -ENOMEM, "no memory for the tensors of base and head");
	for (uint32_t i = 0; i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);
		const struct model_tensor *found;

		if (!is_weight(tensor))
			continue;
		found = name_find(head, count, tensor->name);
		found = found ? found : name_find(base, of_base, tensor->name);
		if (!found)
			return error_set(err, -EBADMSG, "%s: found in neither base nor head", tensor->name);
		list[used++] = *found;
	}
	*ret_count = used;
	*ret_tensors = TAKE(list);
	return 0;
}

void features_done(struct features *features)
{
	graph_done(&features->graph);
	config_done(&features->config);
	free(features->text);
	*features = (struct features){ 0 };
}
