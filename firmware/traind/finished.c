/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/finished.h"
#include "core/base/log.h"
#include "model/build.h"
#include "model/checkpoint.h"
#include "model/export/about.h"
#include "model/features.h"
#include "model/formats/names.h"
#include "traind/forms.h"
#include "traind/names.h"

#include <inttypes.h>
#include <string.h>

#define CONFIG_BYTES_MAX (4u << 20)

/* What the finished model consists of. */
struct finished {
	const struct model_tensor *tensor;
	uint32_t tensors;
	const char *config, *graph_hash, *layers_hash;
	const char *base; /* of a model that was trained on features; NULL = of any other */
	struct about about;
};

/* Writes the file. It contains the configuration, so that the network can be built again from this file
 * alone. */
static int write_file(const struct train *train, const char *path, uint64_t step,
		      const struct finished *finished, struct error *err)
{
	char step_text[24];
	const struct safetensors_note notes[] = {
		{ "format", MODEL_FORMAT },
		{ "version", CHECKPOINT_VERSION },
		{ "graph_hash", finished->graph_hash },
		{ "layers_hash", finished->layers_hash },
		{ "data_hash", train->run.plan_sha256 },
		{ "run_id", train->run.id },
		{ "step", step_text },
		{ "config", finished->config },
		{ ABOUT_SCHEMA, finished->about.schema },
		{ ABOUT_CLASSES, finished->about.classes },
		{ FEATURES_NOTE, finished->base },
	};
	struct safetensors_note given[sizeof(notes) / sizeof(notes[0])];
	uint32_t count = 0;

	(void)snprintf(step_text, sizeof(step_text), "%" PRIu64, step);
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (notes[i].value)
			given[count++] = notes[i];
	return safetensors_write(path, finished->tensor, finished->tensors, given, count, err);
}

/* Keeps the parameters alone of the tensors of a state. */
static struct model_tensor *parameters_of(const struct model_tensor *tensors, uint32_t count,
					  uint32_t *ret_count)
{
	struct model_tensor *list = calloc(count, sizeof(*list));

	*ret_count = 0;
	for (uint32_t i = 0; list && i < count; i++)
		if (name_is_parameter(tensors[i].name))
			list[(*ret_count)++] = tensors[i];
	return list;
}

static void write_forms(const struct run *run, const struct finished *finished)
{
	CLEANUP(graph_done) struct graph graph = { 0 };
	struct error err = { 0 };

	if (graph_build(&run->config, false, &graph, &err) < 0)
		log_warning("no model for other tools: %s", err.text);
	else
		forms_write(run, &graph, finished->tensor, finished->tensors, &finished->about);
}

static int write_own(const struct train *train, const char *path, uint64_t step, struct finished *finished,
		     struct error *err)
{
	CLEANUP(free_ptr) char *config = NULL;
	char config_path[PATH_BYTES];
	int r = names_about(&train->run, &train->run.config, &finished->about, err);

	if (r < 0)
		return r;
	write_forms(&train->run, finished);
	finished->graph_hash = model_graph_hash(train->model);
	finished->layers_hash = model_layers_hash(train->model);
	r = file_read(path_of(PATH_RUN, "config", config_path), CONFIG_BYTES_MAX, &config, NULL, err);
	finished->config = config;
	return r < 0 ? r : write_file(train, path, step, finished, err);
}

/* Writes the model of base and head; `finished` has the tensors of the head. */
static int write_joined(const struct train *train, const char *path, uint64_t step, struct finished *finished,
			struct error *err)
{
	const struct config *config = &train->run.config;
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	CLEANUP(features_done) struct features features = { 0 };
	CLEANUP(free_ptr) struct model_tensor *list = NULL;
	char start[PATH_BYTES];
	int r;

	if ((r = safetensors_open(path_of(PATH_RUN, RUN_START_FILE, start), &file, err)) < 0 ||
	    (r = features_open(config, config->model.weights, file, &features, err)) < 0 ||
	    (r = features_tensors(&features, finished->tensor, finished->tensors, &list, &finished->tensors,
				  err)) < 0 ||
	    (r = names_about(&train->run, &features.config, &finished->about, err)) < 0)
		return r;
	finished->tensor = list;
	finished->config = features.text;
	finished->graph_hash = features.graph.hash;
	finished->layers_hash = features.graph.layers_hash;
	finished->base = config->model.features_of;
	forms_write(&train->run, &features.graph, list, finished->tensors, &finished->about);
	return write_file(train, path, step, finished, err);
}

static void finished_done(struct finished *finished)
{
	about_done(&finished->about);
}

int finished_write(const struct train *train, const char *path, uint64_t step,
		   const struct model_tensor *tensors, uint32_t count, struct error *err)
{
	CLEANUP(finished_done) struct finished finished = { 0 };
	CLEANUP(free_ptr) struct model_tensor *list = parameters_of(tensors, count, &finished.tensors);

	if (!list)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	finished.tensor = list;
	return *train->run.config.model.features_of ? write_joined(train, path, step, &finished, err)
						    : write_own(train, path, step, &finished, err);
}
