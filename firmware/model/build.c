/* SPDX-License-Identifier: Apache-2.0 */
#include "model/build.h"

#include "model/adapt.h"
#include "model/graph/inputs.h"
#include "model/hash.h"
#include "model/layout.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/nodes.h"
#include "model/unread.h"

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
}

/* Makes everything except the layout and the hashes, which need a graph without mistakes. */
static void describe(struct graph *graph, struct mistakes *mistakes)
{
	find_tables(graph, mistakes);
	graph_add_batch(graph);
	graph_add_layers(graph, mistakes);
	unread_check(graph, mistakes);
}

void graph_check(const struct config *config, struct mistakes *mistakes)
{
	struct graph graph = { .config = config, .training = true, .batch_rows = config->run.batch_rows };

	describe(&graph, mistakes);
	if (!mistakes->count)
		adapt_check(&graph, mistakes);
	graph_done(&graph);
}

int graph_build(const struct config *config, bool training, struct graph *ret_graph, struct error *err)
{
	struct graph graph = { .config = config, .training = training, .batch_rows = config->run.batch_rows };
	struct mistakes mistakes = { .file = config->file, .err = err };
	int r = 0;

	describe(&graph, &mistakes);
	if (mistakes.count)
		r = -EINVAL;
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
