/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/numbers.h"

#include "model/build.h"
#include "model/graph/op.h"
#include "model/learn/losses.h"

#include <inttypes.h>
#include <string.h>

static void set_limit(struct numbers *numbers, const struct config *config,
		      const struct config_feature *feature, uint64_t limit)
{
	uint64_t *own = &numbers->limit[feature - config->feature];

	if (limit && (*own == 0 || limit < *own))
		*own = limit;
}

/* An embedding's attribute input_dim is the shape of its table. */
static void limit_ids(struct numbers *numbers, const struct graph *graph, const struct node *node)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	if (input->feature && strncmp(node->op->name, "embedding", strlen("embedding")) == 0)
		set_limit(numbers, graph->config, input->feature,
			  graph_at(graph, node->parameter[0])->shape[0]);
}

void numbers_of(const struct config *config, struct numbers *ret_numbers)
{
	CLEANUP(graph_done) struct graph graph = { 0 };
	const struct config_feature *label = config_feature_named(config, config->model.label);
	struct error err = { 0 };

	*ret_numbers = (struct numbers){ 0 };
	if (graph_build(config, true, &graph, &err) < 0)
		return;
	if (label)
		set_limit(ret_numbers, config, label, loss_label_limit(&graph));
	for (uint32_t i = 0; i < graph.nodes; i++)
		limit_ids(ret_numbers, &graph, &graph.node[i]);
}

static int refuse(const char *name, double found, uint64_t limit, struct error *err)
{
	return error_set(err, -EBADMSG, "feature \"%s\": found %.9g, but the network takes 0 .. %" PRIu64,
			 name, found, limit - 1);
}

static int check_feature(const struct example_feature *feature, const void *row, uint64_t limit,
			 struct error *err)
{
	const struct example_ragged *ragged = row;
	const void *values = feature->values_max ? ragged->values : row;
	const uint64_t count = feature->values_max ? (uint64_t)*ragged->count : feature->elements;

	for (uint64_t i = 0; i < count; i++) {
		const double value = feature->dtype == EXAMPLE_INT64 ? (double)((const int64_t *)values)[i]
								     : (double)((const float *)values)[i];

		if (!(value >= 0 && value <= (double)(limit - 1)))
			return refuse(feature->name, value, limit, err);
	}
	return 0;
}

int numbers_check(const struct numbers *numbers, const struct example_schema *schema, void *const *row,
		  struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < schema->features; i++)
		if (numbers->limit[i])
			r = check_feature(&schema->feature[i], row[i], numbers->limit[i], err);
	return r;
}
