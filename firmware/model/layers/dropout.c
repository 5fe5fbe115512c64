/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/dropout.h"

#include "model/graph/random.h"
#include "model/layers/row.h"
#include "model/plan/fuse.h"
#include "model/plan/round.h"

/* ---- dropout: y = dropped ? 0 : x / (1 - rate) while training, x otherwise ---- */

enum { DROPOUT_RATE };

static const struct attribute_spec dropout_attributes[] = {
	[DROPOUT_RATE] = { "rate", ATTRIBUTE_IS_FLOAT, .required = true, .min = 0, .max = 1,
			   .max_open = true },
};

extern const struct op op_spatial_dropout2d;

/* How many numbers of a row a group computes on CPU devices; kernels/elements.cl has the same number. */
#define SPAN 1024u

void dropout_emit_channels(struct plan *plan, const struct node *node, double rate,
			   const struct tensor *shape, uint32_t from, uint32_t to, bool add)
{
	const uint64_t seed = plan->graph->config->run.seed;

	plan_emit(plan,
		  &(struct launch){
			  .kernel = "spatial_dropout",
			  .groups = { per_element(shape) },
			  ARGUMENTS(IN(from), OUT(to), INT(add), AT(ROWS), INT(shape->elements),
				    INT(tensor_last(shape)), FLOAT(1 / (1 - rate)),
				    UINT(dropout_threshold(rate)), UINT(name_hash(node->name)), AT(STEP),
				    AT(FIRST_ROW), UINT((uint32_t)seed), UINT((uint32_t)(seed >> 32))),
		  });
}

static void elements_emit(struct plan *plan, const struct node *node, uint32_t from, uint32_t to, bool add)
{
	const double rate = node->attribute[DROPOUT_RATE].f;
	const uint64_t seed = plan->graph->config->run.seed;
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan,
		  &(struct launch){
			  .kernel = plan->cpu ? "dropout_lines" : "dropout",
			  .groups = { plan->cpu ? (struct extent){ .per_row =
									   divide_up(output->elements, SPAN) }
						: per_element(output) },
			  ARGUMENTS([DROPOUT_X] = IN(from), [DROPOUT_Y] = OUT(to), [DROPOUT_ADD] = INT(add),
				    [DROPOUT_ROWS] = AT(ROWS), [DROPOUT_COLUMNS] = INT(output->elements),
				    [DROPOUT_SCALE] = FLOAT(1 / (1 - rate)),
				    [DROPOUT_THRESHOLD] = UINT(dropout_threshold(rate)),
				    [DROPOUT_LAYER] = UINT(name_hash(node->name)), [DROPOUT_STEP] = AT(STEP),
				    [DROPOUT_FIRST_ROW] = AT(FIRST_ROW),
				    [DROPOUT_KEY_LOW] = UINT((uint32_t)seed),
				    [DROPOUT_KEY_HIGH] = UINT((uint32_t)(seed >> 32))),
		  });
}

static void dropout_emit(struct plan *plan, const struct node *node, uint32_t from, uint32_t to, bool add)
{
	if (node->op == &op_spatial_dropout2d)
		dropout_emit_channels(plan, node, node->attribute[DROPOUT_RATE].f, output_of(plan, node),
				      from, to, add);
	else
		elements_emit(plan, node, from, to, add);
}

static void dropout_forward(struct plan *plan, const struct node *node, bool training)
{
	if (training)
		dropout_emit(plan, node, node->input[0], node->output, false);
	else
		plan_alias(plan, node->output, node->input[0]);
}

static void dropout_backward(struct plan *plan, const struct node *node)
{
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx != GRAPH_NO_TENSOR)
		dropout_emit(plan, node, output_of(plan, node)->gradient, dx, add);
}

double dropout_factor(const struct op_reference *r, double rate, uint64_t row, uint64_t c)
{
	const uint32_t counter[4] = { (uint32_t)(c / 64 * 16 + c % 16), (uint32_t)(r->first_row + row),
				      (uint32_t)r->step, name_hash(r->node->name) };

	if (!r->training)
		return 1;
	return philox(counter, r->seed).word[c / 16 % 4] >= dropout_threshold(rate) ? 1 / (1 - rate) : 0;
}

static void dropout_reference(const struct op_reference *r)
{
	const uint64_t period = r->node->op == &op_spatial_dropout2d
					? tensor_last(graph_at(r->graph, r->node->output))
					: r->inputs;

	for (uint64_t row = 0; row < r->rows; row++)
		for (uint64_t e = 0; e < r->inputs; e++) {
			const uint64_t i = row * r->inputs + e;
			const double factor =
				dropout_factor(r, r->node->attribute[DROPOUT_RATE].f, row, e % period);

			r->y[i] = r->x[0][i] * factor;
			if (r->dy && r->dx[0])
				r->dx[0][i] = r->dy[i] * factor;
		}
}

static void dropout_export(struct export *out, const struct node *node)
{
	export_unary(out, node, EXPORT_IDENTITY);
}

const struct op op_dropout = {
	.name = "dropout",
	.inputs = 1,
	.masking = MASKING_PASSES,
	.training_only = true,
	.attributes = COUNT(dropout_attributes),
	.attribute = dropout_attributes,
	.shape = same_shape,
	.forward = dropout_forward,
	.backward = dropout_backward,
	.reference = dropout_reference,
	.export = dropout_export,
};

/* ---- spatial_dropout2d: dropout of whole channels of an image ---- */

static int spatial_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			 struct error *err)
{
	int r = tensor_check_image(graph_at(graph, node->input[0]), err);

	return r < 0 ? r : same_shape(graph, node, output, err);
}

const struct op op_spatial_dropout2d = {
	.name = "spatial_dropout2d",
	.inputs = 1,
	.training_only = true,
	.attributes = COUNT(dropout_attributes),
	.attribute = dropout_attributes,
	.shape = spatial_shape,
	.forward = dropout_forward,
	.backward = dropout_backward,
	.reference = dropout_reference,
	.export = dropout_export,
};
