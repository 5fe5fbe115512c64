/* SPDX-License-Identifier: Apache-2.0 */
/* softmax: p = exp(x) / sum exp(x) over the last dimension. */
#include "model/layers/row.h"

#include <math.h>

static void softmax_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "softmax" : "softmax_group",
				.groups = { per_outer(plan, output) },
				ARGUMENTS(IN(node->input[0]), OUT(node->output),
					  ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output))),
			});
}

static void softmax_export(struct export *out, const struct node *node)
{
	export_unary(out, node, EXPORT_SOFTMAX);
}

static void softmax_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "softmax_backward" : "softmax_backward_group",
				.groups = { per_outer(plan, output) },
				ARGUMENTS(IN(output->gradient), IN(node->output), OUT(dx), INT(add),
					  ROWS_TIMES(tensor_outer(output)), INT(tensor_last(output))),
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

/* As the `activation` of a layer it passes a mask, as in Keras. Keras's layer Softmax hides classes by a mask
 * of the input's shape, which no mask of steps has. */
static int softmax_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			 struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	if (input->mask != GRAPH_NO_TENSOR && !node->is_activation)
		return error_set(
			err, -EINVAL,
			"found '%s' with the mask of '%s', allowed: no mask; as the `activation` of a "
			"layer softmax passes a mask",
			input->name, graph_at(graph, input->mask)->name);
	output->mask = input->mask;
	return same_shape(graph, node, output, err);
}

const struct op op_softmax = {
	.name = "softmax",
	.function = true,
	.inputs = 1,
	.masking = MASKING_OWN,
	.shape = softmax_shape,
	.forward = softmax_forward,
	.backward = softmax_backward,
	.reference = softmax_reference,
	.export = softmax_export,
};
