/* SPDX-License-Identifier: Apache-2.0 */
/* permute: the dimensions of a row in another order, as in Keras. dims counts from 1: [ 2, 1 ] swaps the two
 * dimensions of a matrix. */
#include "model/layers/row.h"

#define DIMENSIONS 4u

enum { PERMUTE_DIMS };

static const struct attribute_spec permute_attributes[] = {
	[PERMUTE_DIMS] = { "dims", ATTRIBUTE_IS_INTS, .required = true, .hashed = true, .min = 1,
			   .max = DIMENSIONS, .items_min = 1, .items_max = DIMENSIONS },
};

static bool names_all(const struct attribute *dims)
{
	uint32_t named = 0;

	for (uint32_t i = 0; i < dims->items; i++)
		named |= UINT32_C(1) << dims->item[i];
	return named == (UINT32_C(2) << dims->items) - 2;
}

static int permute_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			 struct error *err)
{
	const struct attribute *dims = &node->attribute[PERMUTE_DIMS];
	const struct tensor *input = graph_at(graph, node->input[0]);

	char found[SHAPE_TEXT_BYTES], shape[SHAPE_TEXT_BYTES];

	if (dims->items != input->rank || !names_all(dims))
		return error_set(err, -EINVAL,
				 "found dims %s for an input of shape %s, allowed: each of 1 .. %u once",
				 items_text(dims, found), shape_text(input, shape), input->rank);
	output->rank = input->rank;
	for (uint32_t i = 0; i < dims->items; i++)
		output->shape[i] = input->shape[dims->item[i] - 1];
	return 0;
}

/* Sizes of `to` and, for each of its dimensions, the distance of two neighbours in `from`. Dimensions that
 * are not there come first, with size 1. */
struct order {
	uint64_t size[DIMENSIONS], stride[DIMENSIONS];
};

/* Dimension i of `to` is dimension source[i] of `from`. */
static struct order order_of(const struct tensor *from, const struct tensor *to,
			     const uint32_t source[static DIMENSIONS])
{
	struct order order = { { 1, 1, 1, 1 }, { 0 } };

	for (uint32_t i = 0; i < to->rank; i++) {
		const uint32_t place = DIMENSIONS - to->rank + i;

		order.size[place] = to->shape[i];
		order.stride[place] = 1;
		for (uint32_t d = source[i] + 1; d < from->rank; d++)
			order.stride[place] *= from->shape[d];
	}
	return order;
}

/* Appends the copy of `from` in the order of the output, or, with `back`, in that of the input. */
static void emit_copy(struct plan *plan, const struct node *node, uint32_t from, uint32_t to, bool back,
		      bool add)
{
	const struct attribute *dims = &node->attribute[PERMUTE_DIMS];
	const struct tensor *target = graph_at(plan->graph, to);
	uint32_t source[DIMENSIONS] = { 0 };
	struct order order;

	for (uint32_t i = 0; i < dims->items; i++) {
		const uint32_t input = (uint32_t)dims->item[i] - 1;

		source[back ? input : i] = back ? i : input;
	}
	order = order_of(graph_at(plan->graph, from), target, source);
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "permute",
			  .groups = { per_element(target) },
			  ARGUMENTS(IN(from), argument_optional(to, add ? ARGUMENT_INOUT : ARGUMENT_OUT),
				    INT(add), AT(ROWS), INT(target->elements), INT(order.size[1]),
				    INT(order.size[2]), INT(order.size[3]), INT(order.stride[0]),
				    INT(order.stride[1]), INT(order.stride[2]), INT(order.stride[3])),
		  });
}

static void permute_forward(struct plan *plan, const struct node *node, bool training)
{
	(void)training;
	emit_copy(plan, node, node->input[0], node->output, false, false);
}

static void permute_backward(struct plan *plan, const struct node *node)
{
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx != GRAPH_NO_TENSOR)
		emit_copy(plan, node, output_of(plan, node)->gradient, dx, true, add);
}

static void permute_reference(const struct op_reference *r)
{
	const struct attribute *dims = &r->node->attribute[PERMUTE_DIMS];
	const struct tensor *in = graph_at(r->graph, r->node->input[0]),
			    *out = graph_at(r->graph, r->node->output);

	for (uint64_t e = 0; e < r->rows * r->outputs; e++) {
		uint64_t place[DIMENSIONS] = { 0 }, left = e % r->outputs, from = 0;

		for (uint32_t i = out->rank; i-- > 0; left /= out->shape[i])
			place[dims->item[i] - 1] = left % out->shape[i];
		for (uint32_t d = 0; d < in->rank; d++)
			from = from * in->shape[d] + place[d];
		from += e / r->outputs * r->inputs;
		r->y[e] = r->x[0][from];
		if (r->dy && r->dx[0])
			r->dx[0][from] = r->dy[e];
	}
}

static void permute_export(struct export *out, const struct node *node)
{
	const struct attribute *dims = &node->attribute[PERMUTE_DIMS];
	struct export_node transpose = { .kind = EXPORT_TRANSPOSE,
					 .output = export_output(out, node),
					 .input = { export_input(out, node, 0) },
					 .axis_count = dims->items + 1 };

	for (uint32_t i = 0; i < dims->items; i++)
		transpose.axes[i + 1] = (int32_t)dims->item[i];
	export_node(out, &transpose);
}

const struct op op_permute = {
	.name = "permute",
	.inputs = 1,
	.attributes = COUNT(permute_attributes),
	.attribute = permute_attributes,
	.masking = MASKING_ENDS,
	.shape = permute_shape,
	.forward = permute_forward,
	.backward = permute_backward,
	.reference = permute_reference,
	.export = permute_export,
};
