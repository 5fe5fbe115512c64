/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of each element, and softmax, whose elements share a row. */
#include "model/ops/row.h"

#include <math.h>

/* ---- relu: y = x < 0 ? 0 : x ---- */

static void relu_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = "relu",
				.groups = { per_element(output) },
				.arguments = 4,
				.argument = { IN(node->input[0]), OUT(node->output), AT(ROWS),
					      INT(output->elements) },
			});
}

static void relu_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "relu_backward",
				.groups = { per_element(output) },
				.arguments = 7,
				.argument = { IN(output->gradient), IN(node->output), OUT(dx), FLOAT(1),
					      INT(add), AT(ROWS), INT(output->elements) },
			});
}

static void relu_reference(const struct op_reference *r)
{
	for (uint64_t i = 0; i < r->rows * r->inputs; i++) {
		r->y[i] = r->x[0][i] < 0 ? 0 : r->x[0][i];
		if (r->dy && r->dx[0])
			r->dx[0][i] = r->y[i] > 0 ? r->dy[i] : 0;
	}
}

const struct op op_relu = {
	.name = "relu",
	.inputs = 1,
	.shape = same_shape,
	.forward = relu_forward,
	.backward = relu_backward,
	.reference = relu_reference,
};

/* ---- softmax: p = exp(x) / sum exp(x) over the last dimension ---- */

static void softmax_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = "softmax",
				.groups = { per_outer(output) },
				.arguments = 4,
				.argument = { IN(node->input[0]), OUT(node->output),
					      ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output)) },
			});
}

static void softmax_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "softmax_backward",
				.groups = { per_outer(output) },
				.arguments = 6,
				.argument = { IN(output->gradient), IN(node->output), OUT(dx), INT(add),
					      ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output)) },
			});
}

static void softmax_reference(const struct op_reference *r)
{
	const uint64_t classes = tensor_last(graph_at(r->graph, r->node->output)), n = r->rows * r->inputs;

	for (uint64_t at = 0; at < n; at += classes) {
		const double *x = r->x[0] + at;
		double *p = r->y + at, most = x[0], sum = 0, dot = 0;

		for (uint64_t c = 1; c < classes; c++)
			most = x[c] > most ? x[c] : most;
		for (uint64_t c = 0; c < classes; c++)
			sum += p[c] = exp(x[c] - most);
		for (uint64_t c = 0; c < classes; c++)
			p[c] /= sum;
		if (!r->dy || !r->dx[0])
			continue;
		for (uint64_t c = 0; c < classes; c++)
			dot += r->dy[at + c] * p[c];
		for (uint64_t c = 0; c < classes; c++)
			r->dx[0][at + c] = p[c] * (r->dy[at + c] - dot);
	}
}

const struct op op_softmax = {
	.name = "softmax",
	.inputs = 1,
	.shape = same_shape,
	.forward = softmax_forward,
	.backward = softmax_backward,
	.reference = softmax_reference,
};
