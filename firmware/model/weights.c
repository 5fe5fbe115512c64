/* SPDX-License-Identifier: Apache-2.0 */
#include "model/weights.h"

#include "model/base/base.h"
#include "model/checkpoint.h"
#include "model/formats/names.h"
#include "model/formats/numbers.h"
#include "model/graph/graph.h"

#include <inttypes.h>
#include <string.h>

/* ---- Names ---- */

/* Adds a name to a list. A name that does not fit is left out, and the list ends with "...". */
static void add_name(char list[static WEIGHTS_NAMES_BYTES], const char *name)
{
	const size_t used = strlen(list), more = strlen(name) + (used ? 2 : 0);

	if (used + more + sizeof("...") <= WEIGHTS_NAMES_BYTES)
		(void)snprintf(list + used, WEIGHTS_NAMES_BYTES - used, "%s%s", used ? ", " : "", name);
	else if (used < 3 || strcmp(list + used - 3, "...") != 0)
		(void)snprintf(list + used, WEIGHTS_NAMES_BYTES - used, "...");
}

/* Returns whether the name of a layer is the first `length` bytes of `name`. */
static bool is_called(const struct node *node, const char *name, size_t length)
{
	return strlen(node->name) == length && memcmp(node->name, name, length) == 0;
}

static bool is_listed(const char *list, const struct node *node)
{
	bool any = false;

	for (size_t length; list && (length = config_next_name(&list)) > 0; list += length) {
		any = true;
		if (is_called(node, list, length))
			return true;
	}
	return !any;
}

static bool has_parameters(const struct node *node)
{
	for (uint32_t i = 0; i < node->parameters; i++)
		if (node->parameter[i] != GRAPH_NO_TENSOR)
			return true;
	return false;
}

void weights_check(const struct graph *graph, struct mistakes *mistakes)
{
	const char *list = graph->config->model.weights_layers;

	for (size_t length; list && (length = config_next_name(&list)) > 0; list += length) {
		bool found = false;

		for (uint32_t i = 0; i < graph->nodes; i++)
			found |= is_called(&graph->node[i], list, length) && has_parameters(&graph->node[i]);
		if (!found)
			mistakes_add(mistakes, config_line(graph->config, "model.weights_layers"),
				     "model.weights_layers: found \"%.*s\", allowed: layers with parameters",
				     (int)(length < 100 ? length : 100), list);
	}
}

/* ---- What fits ---- */

struct match {
	const struct graph *graph;
	const char *what;
	const struct model_tensor *tensor; /* the tensors of the file */
	uint32_t tensors;
	struct weights *weights;
};

static const struct model_tensor *find(const struct match *match, const char *name)
{
	return name_find(match->tensor, match->tensors, name);
}

static bool has_shape(const struct model_tensor *found, const struct tensor *wanted)
{
	return found->rank == wanted->rank &&
	       memcmp(found->shape, wanted->shape, found->rank * sizeof(found->shape[0])) == 0;
}

static int refuse_shape(const struct match *match, const struct model_tensor *found,
			const struct tensor *wanted, struct error *err)
{
	struct tensor theirs = { .rank = found->rank };
	char text[SHAPE_TEXT_BYTES], allowed[SHAPE_TEXT_BYTES];

	memcpy(theirs.shape, found->shape, sizeof(theirs.shape));
	return error_set(err, -EINVAL,
			 "%s: %s: found %s, allowed: %s; give the layer another name, list the layers to "
			 "load in model.weights_layers, or set model.weights_skip_mismatch",
			 match->what, wanted->name, shape_text(&theirs, text), shape_text(wanted, allowed));
}

/* Returns 1 if the file has a tensor for `wanted`, 0 if `wanted` keeps its initial numbers. */
static int match_tensor(const struct match *match, const struct tensor *wanted, struct error *err)
{
	const struct model_tensor *found = find(match, wanted->name);
	struct weights *weights = match->weights;

	if (!found)
		return 0;
	if (!has_shape(found, wanted))
		return match->graph->config->model.weights_skip_mismatch
			       ? 0
			       : refuse_shape(match, found, wanted, err);
	if (!numbers_are_floats(found->dtype))
		return error_set(err, -EBADMSG, "%s: %s: found %s, allowed: F16, BF16, F32, F64", match->what,
				 wanted->name, found->dtype);
	weights->pair[weights->matched++] = (struct weights_pair){ wanted->name, *found };
	return 1;
}

static void note_initial(const struct match *match, const struct node *node, const bool *is_matched, bool any)
{
	if (!any)
		add_name(match->weights->initial, node->name);
	for (uint32_t i = 0; any && i < node->parameters; i++)
		if (node->parameter[i] != GRAPH_NO_TENSOR && !is_matched[i])
			add_name(match->weights->initial, graph_at(match->graph, node->parameter[i])->name);
}

static int match_layer(const struct match *match, const struct node *node, struct error *err)
{
	const char *list = match->graph->config->model.weights_layers;
	const bool listed = is_listed(list, node);
	bool is_matched[GRAPH_PARAMETERS_MAX] = { false }, any = false;

	for (uint32_t i = 0; i < node->parameters; i++) {
		int r;

		if (node->parameter[i] == GRAPH_NO_TENSOR)
			continue;
		match->weights->wanted++;
		r = listed ? match_tensor(match, graph_at(match->graph, node->parameter[i]), err) : 0;
		if (r < 0)
			return r;
		is_matched[i] = r;
		any |= r;
	}
	if (!any && listed && list && *list)
		return error_set(err, -EINVAL, "%s: found no tensor for layer '%s' of model.weights_layers",
				 match->what, node->name);
	note_initial(match, node, is_matched, any);
	return 0;
}

bool weights_have(const struct weights *weights, const char *name)
{
	for (uint32_t i = 0; weights && i < weights->matched; i++)
		if (strcmp(weights->pair[i].name, name) == 0)
			return true;
	return false;
}

static int match_all(const struct match *match, struct error *err)
{
	const struct graph *graph = match->graph;
	const char *of = graph->config->model.features_of;
	const bool features = of && *of;
	struct weights *weights = match->weights;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < graph->nodes; i++)
		if (has_parameters(&graph->node[i]))
			r = match_layer(match, &graph->node[i], err);
	/* With features_of the others belong to the base, which the finished model gets. */
	for (uint32_t i = 0; i < match->tensors && !features; i++)
		if (name_is_parameter(match->tensor[i].name) && !weights_have(weights, match->tensor[i].name))
			add_name(weights->unused, match->tensor[i].name);
	if (r == 0 && !weights->matched && !features)
		return error_set(
			err, -EINVAL, "%s: none of its tensors fits a layer: found %s, the layers are %s",
			match->what, *weights->unused ? weights->unused : "nothing", weights->initial);
	return r;
}

/* Weights of a base that `kiln weights convert` wrote belong to one scaling of the pixels. */
static int check_scaling(const struct config *config, const char *what, const struct safetensors *file,
			 struct error *err)
{
	const char *wanted = safetensors_value(file, "base_scaling"), *found = base_scaling(config);

	if (!wanted || !found || strcmp(wanted, found) == 0)
		return 0;
	return error_set(
		err, -EINVAL,
		"%s: its weights expect model.base_scaling = \"%.20s\", found \"%s\", allowed: \"%.20s\", "
		"or \"none\" beside layers that scale the pixels in this way",
		what, wanted, found, wanted);
}

int weights_match(const struct graph *graph, const char *what, const struct safetensors *file,
		  struct weights *ret_weights, struct error *err)
{
	struct weights weights = { .pair = calloc(graph->tensors, sizeof(*weights.pair)) };
	struct match match = { .graph = graph, .what = what, .weights = &weights };
	const char *format = safetensors_value(file, "format");
	int r = 0;

	if (!weights.pair)
		return error_set(err, -ENOMEM, "%s: out of memory", what);
	match.tensor = safetensors_tensors(file, &match.tensors);
	if (format && (strcmp(format, CHECKPOINT_FORMAT) == 0 || strcmp(format, MODEL_FORMAT) == 0))
		r = safetensors_require_crcs(file, err);
	if (r == 0)
		r = check_scaling(graph->config, what, file, err);
	if (r == 0)
		r = match_all(&match, err);
	if (r < 0)
		weights_done(&weights);
	else
		*ret_weights = weights;
	return r;
}

const char *weights_text(const struct weights *weights, char out[static WEIGHTS_TEXT_BYTES])
{
	const char *initial = weights->initial, *unused = weights->unused;

	(void)snprintf(out, WEIGHTS_TEXT_BYTES, "%" PRIu32 " of %" PRIu32 " tensors%s%s%s%s%s",
		       weights->matched, weights->wanted, *initial ? "; " : "", initial,
		       *initial ? " as initialized" : "", *unused ? "; not used: " : "", unused);
	return out;
}

void weights_done(struct weights *weights)
{
	free(weights->pair);
	*weights = (struct weights){ 0 };
}

/* ---- Numbers ---- */

static int load_pair(struct model *model, const char *what, const struct weights_pair *pair,
		     struct error *err)
{
	const uint64_t count = numbers_count(&pair->from);
	CLEANUP(free_ptr) float *numbers = malloc(count * sizeof(*numbers));
	int r = 0;

	if (!numbers)
		return error_set(err, -ENOMEM, "%s: %s: out of memory", what, pair->name);
	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = numbers_at(&pair->from, i, what, &numbers[i], err);
	if (r < 0)
		return r;
	return model_tensor_load(model, pair->name, numbers, count * sizeof(*numbers), err);
}

int weights_load(struct model *model, const char *what, const struct weights *weights, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < weights->matched; i++)
		r = load_pair(model, what, &weights->pair[i], err);
	return r;
}
