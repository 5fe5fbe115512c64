/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/temporary.h"
#include "core/run/run.h"
#include "drivers/store/weights.h"
#include "model/adapt.h"
#include "model/build.h"
#include "model/features.h"
#include "model/weights.h"
#include "preflight/preflight.h"
#include "preflight/stores.h"

#include <string.h>
#include <unistd.h>

#define PART "start"

static void refuse_latest(struct preflight *preflight, const char *text)
{
	preflight_add(preflight, PART, PREFLIGHT_FAILED,
		      "set run.start_from = \"scratch\", or put the layers back",
		      "run.start_from = \"latest\": %s", text);
}

/* ---- run.start_from = "latest" ---- */

static void compare(struct preflight *preflight, const struct graph *graph, const struct run *last)
{
	CLEANUP(graph_done) struct graph then = { 0 };
	char text[RUN_ID_BYTES + 64];
	struct error err = { 0 };

	if (graph_build(&last->config, true, &then, &err) < 0) {
		refuse_latest(preflight, err.text);
		return;
	}
	(void)snprintf(text, sizeof(text), "the layers are not those of the last run, %s", last->id);
	if (strcmp(then.layers_hash, graph->layers_hash) != 0)
		refuse_latest(preflight, text);
	else
		preflight_add(preflight, PART, PREFLIGHT_OK, "", "the layers are those of the last run, %s",
			      last->id);
}

/* Returns whether there is a last run, whose weights are used then. */
static bool look_at_last(struct preflight *preflight, const struct graph *graph)
{
	CLEANUP(run_done) struct run last = { 0 };
	struct error err = { 0 };
	const int r = run_load(&last, &err);

	if (r == 0)
		compare(preflight, graph, &last);
	else if (r != -ENOENT)
		preflight_add(preflight, PART, PREFLIGHT_NOT_SEEN, "", "the last run: %s", err.text);
	else
		preflight_add(preflight, PART, PREFLIGHT_NOT_SEEN, "",
			      "run.start_from = \"latest\": this disk has no run; the begin of the run looks "
			      "for one in the sink");
	return r != -ENOENT;
}

/* ---- model.weights ---- */

static int match(const struct graph *graph, const char *path, char text[static WEIGHTS_TEXT_BYTES],
		 struct error *err)
{
	const char *what = graph->config->model.weights;
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	CLEANUP(adapt_closep) struct adapt *adapt = NULL;
	CLEANUP(weights_done) struct weights weights = { 0 };
	int r = safetensors_open(path, &file, err);

	if (r < 0)
		return error_prefix(err, "%s", what);
	if ((r = weights_match(graph, what, file, &weights, err)) < 0 ||
	    (r = features_check(graph->config, what, file, err)) < 0 ||
	    (r = adapt_open(graph, &weights, &adapt, err)) < 0)
		return r;
	(void)weights_text(&weights, text);
	return 0;
}

static void look_at_weights(struct preflight *preflight, const struct graph *graph)
{
	const struct store_options options = preflight_store_options(preflight);
	char path[PATH_BYTES], text[WEIGHTS_TEXT_BYTES];
	struct error err = { 0 };

	if (temporary_file("weights", path, &err) < 0) {
		preflight_add(preflight, PART, PREFLIGHT_NOT_SEEN, "", "model.weights: %s", err.text);
		return;
	}
	if (store_get_weights(preflight->config, &options, path, &err) < 0)
		preflight_add_error(preflight, PART, &err);
	else if (match(graph, path, text, &err) < 0)
		preflight_add(preflight, PART, PREFLIGHT_FAILED,
			      "name a file whose tensors fit the layers, or change the layers",
			      "model.weights: %s", err.text);
	else
		preflight_add(preflight, PART, PREFLIGHT_OK, "", "%s: %s", preflight->config->model.weights,
			      text);
	(void)unlink(path);
}

void preflight_start(struct preflight *preflight)
{
	const struct config *config = preflight->config;
	CLEANUP(graph_done) struct graph graph = { 0 };
	struct error err = { 0 };

	if (config->run.start_from != START_LATEST && !*config->model.weights)
		return;
	if (graph_build(config, true, &graph, &err) < 0)
		return; /* preflight_device() says why */
	if (config->run.start_from == START_LATEST && look_at_last(preflight, &graph))
		return;
	if (*config->model.weights)
		look_at_weights(preflight, &graph);
}
