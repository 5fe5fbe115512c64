/* SPDX-License-Identifier: Apache-2.0 */
#include "model/build.h"

#include "model/adapt.h"
#include "model/base/base.h"
#include "model/graph/inputs.h"
#include "model/hash.h"
#include "model/layout.h"
#include "model/learn/losses.h"
#include "model/learn/objective.h"
#include "model/learn/optimizers.h"
#include "model/nodes.h"
#include "model/unread.h"

#include <inttypes.h>

static void find_tables(struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	const char *loss = config->model.loss, *optimizer = config->optimizer.name;

	graph->loss = loss ? loss_find(loss) : NULL;
	graph->optimizer = optimizer ? optimizer_find(optimizer) : NULL;
	if (loss && !graph->loss)
		mistakes_add(mistakes, config_line(config, "model.loss"),
			     "model.loss: found \"%.100s\", allowed: %s", loss, loss_names());
	optimizer_check(config, mistakes);
	objective_check(config, mistakes);
}

/* Makes everything except the layout and the hashes, which need a graph without mistakes. */
static void describe(struct graph *graph, struct mistakes *mistakes)
{
	find_tables(graph, mistakes);
	graph_add_batch(graph);
	graph_add_layers(graph, mistakes);
	unread_check(graph, mistakes);
}

/* Each lane gives as many rows of a batch as any other (data/order.h). A trained model may have other lanes:
 * older firmware allowed them, and nothing but training reads them. */
static void check_lanes(const struct config *config, struct mistakes *mistakes)
{
	const uint64_t lanes = config->order.lanes, rows = config->run.batch_rows;

	if (lanes > 1 && rows % lanes != 0)
		mistakes_add(mistakes, config_line(config, "order.lanes"),
			     "order.lanes: found %" PRIu64
			     ", allowed: a number that divides run.batch_rows, %" PRIu64,
			     lanes, rows);
}

void graph_check(const struct config *config, struct mistakes *mistakes)
{
	struct graph graph = {
		.config = config, .training = true, .batch_rows = config->run.batch_rows, .parts = 1
	};

	check_lanes(config, mistakes);
	describe(&graph, mistakes);
	if (!mistakes->count)
		adapt_check(&graph, mistakes);
	graph_done(&graph);
}

/* Takes out the layers after the base, with all that they alone read. */
static void cut_head(struct graph *graph)
{
	uint32_t inputs = 0;

	graph_cut(graph, graph->base_tensors);
	graph->nodes = graph->base_nodes;
	graph->output = graph->node[graph->nodes - 1].output;
	while (inputs < graph->inputs && graph->input[inputs] < graph->tensors)
		inputs++;
	graph->inputs = inputs;
}

/* Builds the whole graph, or that of the base alone. */
static int build(const struct config *config, bool training, bool base, struct graph *ret_graph,
		 struct error *err)
{
	struct graph graph = { .config = config,
			       .training = training,
			       .lanes = training && config->order.lanes > 1 ? (uint32_t)config->order.lanes
									    : 1,
			       .parts = training ? graph_parts(config) : 1 };
	struct mistakes mistakes = { .file = config->file, .err = err };
	int r = 0;

	graph.batch_rows = config->run.batch_rows / graph.parts;
	describe(&graph, &mistakes);
	if (mistakes.count)
		r = -EINVAL;
	else if (base && !graph.base_nodes)
		r = error_set(err, -EINVAL, "%s: model.base: found nothing, expected one of %s", config->file,
			      base_names());
	if (r == 0 && base)
		cut_head(&graph);
	if (r == 0) {
		layout_state(&graph);
		r = graph_set_hash(&graph, err);
	}
	if (r < 0)
		graph_done(&graph);
	else
		*ret_graph = graph;
	return r;
}

int graph_build(const struct config *config, bool training, struct graph *ret_graph, struct error *err)
{
	return build(config, training, false, ret_graph, err);
}

int graph_build_base(const struct config *config, struct graph *ret_graph, struct error *err)
{
	return build(config, false, true, ret_graph, err);
}
