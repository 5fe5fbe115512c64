/* SPDX-License-Identifier: Apache-2.0 */
#include "model/losses.h"

#include "model/plan.h"

#include <math.h>
#include <string.h>

/* ---- categorical_crossentropy of softmax, from the logits ---- */

static void crossentropy_emit(struct plan *plan, bool training)
{
	const struct graph *graph = plan->graph;
	const struct node *last = &graph->node[graph->nodes - 1];
	const uint32_t z = last->input[0];
	bool add = false;
	const uint32_t dz = training ? plan_gradient(plan, z, &add) : GRAPH_NO_TENSOR;
	struct launch launch = {
		.kernel = "softmax_crossentropy",
		.groups = { { .per_row = 1, .tile = ROW_GROUP } },
		.arguments = 9,
		.argument = { IN(z), IN(graph->label), IN(graph->empty), OUT(graph->row_loss),
			      OUT(graph->row_correct), AT(NULL), AT(ROW_WEIGHT), AT(ROWS),
			      INT(graph_at(graph, graph->label)->elements) },
	};

	/* The loss begins the backward pass: its store is the first, so it writes. */
	if (dz != GRAPH_NO_TENSOR)
		launch.argument[5] = (struct argument)OUT(dz);
	plan_emit(plan, &launch);
}

static void crossentropy_row(uint64_t classes, const double *z, const int64_t *label, double *loss,
			     double *correct, double *dz)
{
	double most, sum = 0, labels = 0;
	uint64_t best = 0, wanted = 0;

	for (uint64_t c = 1; c < classes; c++) {
		best = z[c] > z[best] ? c : best;
		wanted = label[c] > label[wanted] ? c : wanted;
	}
	most = z[best];
	for (uint64_t c = 0; c < classes; c++) {
		sum += exp(z[c] - most);
		labels += (double)label[c];
	}
	*loss = 0;
	*correct = best == wanted;
	for (uint64_t c = 0; c < classes; c++) {
		*loss += (double)label[c] * (log(sum) + most - z[c]);
		if (dz)
			dz[c] = exp(z[c] - most) / sum * labels - (double)label[c];
	}
}

static void crossentropy_reference(uint64_t rows, uint64_t classes, const double *z, const int64_t *label,
				   const uint8_t *empty, double *row_loss, double *row_correct, double *dz)
{
	uint64_t valid = 0;

	for (uint64_t r = 0; r < rows; r++)
		valid += !empty || !empty[r];
	for (uint64_t r = 0; r < rows; r++) {
		const bool counts = !empty || !empty[r];
		double *row_dz = dz ? dz + r * classes : NULL;

		crossentropy_row(classes, z + r * classes, label + r * classes, &row_loss[r], &row_correct[r],
				 row_dz);
		row_loss[r] = counts ? row_loss[r] : 0;
		row_correct[r] = counts ? row_correct[r] : 0;
		for (uint64_t c = 0; dz && c < classes; c++)
			row_dz[c] = counts ? row_dz[c] / (double)valid : 0;
	}
}

static const struct loss losses[] = {
	{ "categorical_crossentropy", "softmax", crossentropy_emit, crossentropy_reference },
};

const struct loss *loss_find(const char *name)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (!strcmp(losses[i].name, name))
			return &losses[i];
	return NULL;
}

const char *loss_names(void)
{
	return "categorical_crossentropy";
}
