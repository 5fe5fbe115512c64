/* SPDX-License-Identifier: Apache-2.0 */
/* concatenate: joins inputs along an axis. */
#include "model/layers/row.h"

/* ---- copy_columns: to[r][to_at + c] (+)= from[r][from_at + c] for `columns` columns ---- */

struct block {
	uint32_t tensor;
	uint64_t stride, at; /* elements of a row of the tensor; index of the first column of the block */
};

/* Appends a copy of `per_row` rows of `columns` numbers for each row of the batch. */
static void copy_columns(struct plan *plan, const struct block *from, const struct block *to, bool add,
			 uint64_t per_row, uint64_t columns)
{
	plan_emit(plan, &(struct launch){
				.kernel = "copy_columns",
				.groups = { { .per_row = per_row * columns, .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(from->tensor), OUT(to->tensor), INT(add), ROWS_TIMES(per_row),
					  INT(columns), INT(from->stride), INT(from->at), INT(to->stride),
					  INT(to->at)),
			});
}

/* ---- concatenate: along `axis`, 1 being the first dimension of a row, as in Keras ---- */

enum { CONCATENATE_AXIS };

static const struct attribute_spec concatenate_attributes[] = {
	[CONCATENATE_AXIS] = { "axis", ATTRIBUTE_IS_INT, .hashed = true, .fallback = -1,
			       .min = -(double)CONFIG_SHAPE_MAX, .max = CONFIG_SHAPE_MAX },
};

/* Returns the axis as an index into shape[]; the rank of the tensor if it does not have that axis. */
static uint32_t axis_of(const struct node *node, const struct tensor *tensor)
{
	const int64_t axis = node->attribute[CONCATENATE_AXIS].i,
		      index = axis < 0 ? axis + (int64_t)tensor->rank : axis - 1;

	return axis && index >= 0 && index < (int64_t)tensor->rank ? (uint32_t)index : tensor->rank;
}

/* Along the last axis each step keeps its mask. */
static int concatenate_mask(const struct graph *graph, const struct node *node, uint32_t axis,
			    struct tensor *output, struct error *err)
{
	if (axis + 1 == output->rank && axis > 0)
		return graph_common_mask(graph, node, &output->mask, err);
	for (uint32_t i = 0; i < node->inputs; i++)
		if (graph_at(graph, node->input[i])->mask != GRAPH_NO_TENSOR)
			return refuse_input(graph, node, i,
					    "with a mask, the last axis, so that the steps stay the same",
					    err);
	return 0;
}

static int concatenate_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			     struct error *err)
{
	const struct tensor *first = graph_at(graph, node->input[0]);
	const uint32_t axis = axis_of(node, first);

	if (axis == first->rank)
		return refuse_input(graph, node, 0, "one that has the axis", err);
	for (uint32_t i = 1; i < node->inputs; i++) {
		const struct tensor *other = graph_at(graph, node->input[i]);

		for (uint32_t d = 0; d < first->rank; d++)
			if (first->rank != other->rank || (d != axis && first->shape[d] != other->shape[d]))
				return refuse_input(graph, node, i, "the same except for the axis", err);
	}
	(void)same_shape(graph, node, output, err);
	for (uint32_t i = 1; i < node->inputs; i++)
		output->shape[axis] += graph_at(graph, node->input[i])->shape[axis];
	return concatenate_mask(graph, node, axis, output, err);
}

/* Where an input is in the output: as a block of columns. A row of the batch has `outer` rows of the matrix;
 * in each, the input has `columns` numbers from index `at` on, of `stride` numbers in total. */
struct slice {
	uint64_t outer, columns, stride, at;
};

static struct slice slice_of(const struct graph *graph, const struct node *node, uint32_t i)
{
	const struct tensor *output = graph_at(graph, node->output), *input = graph_at(graph, node->input[i]);
	const uint32_t axis = axis_of(node, output);
	struct slice slice = { .outer = 1 };

	for (uint32_t d = 0; d < axis; d++)
		slice.outer *= output->shape[d];
	slice.columns = input->elements / slice.outer;
	slice.stride = output->elements / slice.outer;
	for (uint32_t before = 0; before < i; before++)
		slice.at += graph_at(graph, node->input[before])->elements / slice.outer;
	return slice;
}

static void concatenate_forward(struct plan *plan, const struct node *node, bool training)
{
	(void)training;
	for (uint32_t i = 0; i < node->inputs; i++) {
		const struct slice slice = slice_of(plan->graph, node, i);
		const struct block from = { node->input[i], slice.columns, 0 },
				   to = { node->output, slice.stride, slice.at };

		copy_columns(plan, &from, &to, false, slice.outer, slice.columns);
	}
}

static void concatenate_backward(struct plan *plan, const struct node *node)
{
	for (uint32_t i = 0; i < node->inputs; i++) {
		const struct slice slice = slice_of(plan->graph, node, i);
		const struct block from = { output_of(plan, node)->gradient, slice.stride, slice.at };
		bool add = false;
		const struct block to = { plan_gradient(plan, node->input[i], &add), slice.columns, 0 };

		if (to.tensor != GRAPH_NO_TENSOR)
			copy_columns(plan, &from, &to, add, slice.outer, slice.columns);
	}
}

static void concatenate_reference(const struct op_reference *r)
{
	for (uint32_t i = 0; i < r->node->inputs; i++) {
		const struct slice slice = slice_of(r->graph, r->node, i);

		for (uint64_t row = 0; row < r->rows * slice.outer; row++)
			for (uint64_t c = 0; c < slice.columns; c++) {
				r->y[row * slice.stride + slice.at + c] = r->x[i][row * slice.columns + c];
				if (r->dy && r->dx[i])
					r->dx[i][row * slice.columns + c] =
						r->dy[row * slice.stride + slice.at + c];
			}
	}
}

static void concatenate_export(struct export *out, const struct node *node)
{
	struct export_node join = { .kind = EXPORT_CONCATENATE,
				    .output = export_output(out, node),
				    .axes = { 1 + (int32_t)axis_of(node, export_tensor(out, node->output)) },
				    .axis_count = 1 };

	for (uint32_t i = 0; i < node->inputs; i++)
		join.input[i] = export_input(out, node, i);
	export_node(out, &join);
}

const struct op op_concatenate = {
	.name = "concatenate",
	.masking = MASKING_OWN,
	.inputs = 2,
	.inputs_max = CONFIG_INPUTS_MAX,
	.attributes = COUNT(concatenate_attributes),
	.attribute = concatenate_attributes,
	.shape = concatenate_shape,
	.forward = concatenate_forward,
	.backward = concatenate_backward,
	.reference = concatenate_reference,
	.export = concatenate_export,
};
