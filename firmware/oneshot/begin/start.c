/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/start.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/versions/versions_run.h"
#include "model/adapt.h"
#include "model/checkpoint.h"
#include "model/features.h"
#include "model/weights.h"
#include "oneshot/begin/bring.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/weights.h"

#include <string.h>
#include <unistd.h>

/* ---- Whether the weights fit ---- */

/* Checks that the checkpoint is of a network with the same layers. Otherwise kiln-traind would refuse it. */
static int check_latest(const char *file, const struct start *start, const char *hash, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *weights = NULL;
	int r = safetensors_open(start->path, &weights, err);

	if (r < 0 || (r = checkpoint_expect(start->with.run_id, weights, "layers_hash", hash, err)) == 0)
		return r;
	(void)unlink(start->path);
	return error_prefix(err,
			    "%s: run.start_from = \"latest\", but the layers are not those of the last run; "
			    "start from \"scratch\" or put them back",
			    file);
}

/* Checks that each layer that needs statistics of the data can get them from the sources, or from the weights
 * (`given`). */
static int check_adapt(const struct graph *graph, const struct weights *given, struct error *err)
{
	CLEANUP(adapt_closep) struct adapt *adapt = NULL;

	return adapt_open(graph, given, &adapt, err);
}

static int check_weights(const char *file, const struct graph *graph, const struct start *start,
			 struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *weights = NULL;
	struct weights match = { 0 };
	char text[WEIGHTS_TEXT_BYTES];
	int r = safetensors_open(start->path, &weights, err);

	if (r < 0)
		(void)error_prefix(err, "%s", graph->config->model.weights);
	else
		r = weights_match(graph, graph->config->model.weights, weights, &match, err);
	if (r == 0)
		r = features_check(graph->config, graph->config->model.weights, weights, err);
	if (r == 0 && (r = check_adapt(graph, &match, err)) == 0)
		log_info("%s: %s", graph->config->model.weights, weights_text(&match, text));
	else
		(void)unlink(start->path);
	weights_done(&match);
	return r < 0 ? error_prefix(err, "%s: model.weights", file) : 0;
}

/* ---- Which weights ---- */

int start_open_sink(const struct config *config, const char *run_id, struct store **ret_sink,
		    struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	struct config_store where = config->sink;
	int r = run_json_archived(run_id, &text, NULL);

	/* Without a record here the run is older than the archive, or of another disk. */
	if (r == 0 && ((r = json_parse("run.json", text, strlen(text), &record, err)) < 0 ||
		       (r = versions_run_sink(config, record, &where, err)) < 0))
		return r;
	return configured_store_open(config, &where, ret_sink, err);
}

/* Finds the newest checkpoint of the last run; where that run has none, the checkpoint with which that run
 * started. */
static int find_latest(const struct config *config, const struct run *last, struct start *ret_start,
		       struct error *err)
{
	const char *const ids[] = { last->id, last->start_run };
	int r = 0;

	for (size_t i = 0; r == 0 && !*ret_start->path && i < sizeof(ids) / sizeof(ids[0]) && *ids[i]; i++) {
		CLEANUP(store_closep) struct store *sink = NULL;

		ret_start->with.run_id = ids[i];
		r = start_open_sink(config, ids[i], &sink, err);
		if (r == 0)
			r = bring_start(sink, ids[i], ret_start->path, err);
	}
	if (r == 0 && !*ret_start->path && *last->id)
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_MISSING, .run_id = last->id },
			   "%s has no checkpoint; starting from scratch", last->id);
	return r;
}

int start_choose(const char *file, const struct graph *graph, const struct run *last, struct start *ret_start,
		 struct error *err)
{
	const struct config *config = graph->config;
	int r = 0;

	*ret_start = (struct start){ 0 };
	ret_start->with.file = ret_start->path;
	if (config->run.start_from == START_LATEST &&
	    ((r = find_latest(config, last, ret_start, err)) < 0 || *ret_start->path))
		return r < 0 ? r : check_latest(file, ret_start, graph->layers_hash, err);
	if (!*config->model.weights)
		return check_adapt(graph, NULL, err);
	if ((r = weights_bring(config, NULL, ret_start->path, ret_start->sha256, err)) < 0)
		return r;
	ret_start->with.run_id = "";
	ret_start->with.sha256 = ret_start->sha256;
	return check_weights(file, graph, ret_start, err);
}
