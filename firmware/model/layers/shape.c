/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that are views: the output has the bytes of the input, with another shape. */
#include "model/layers/row.h"

#include <inttypes.h>
#include <string.h>

static void view_reference(const struct op_reference *r)
{
	memcpy(r->y, r->x[0], r->rows * r->inputs * sizeof(*r->y));
	if (r->dy && r->dx[0])
		memcpy(r->dx[0], r->dy, r->rows * r->inputs * sizeof(*r->dy));
}

static void view_export(struct export *out, const struct node *node)
{
	export_reshape(out, export_input(out, node, 0), export_tensor(out, node->output),
		       export_output(out, node));
}

/* ---- flatten ---- */

static int flatten_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			 struct error *err)
{
	(void)err;
	output->rank = 1;
	output->shape[0] = graph_at(graph, node->input[0])->elements;
	return 0;
}

const struct op op_flatten = {
	.name = "flatten",
	.inputs = 1,
	.masking = MASKING_ENDS,
	.view = true,
	.shape = flatten_shape,
	.reference = view_reference,
	.export = view_export,
};

/* ---- reshape: target_shape of a row, one of whose sizes may be -1: what is left ---- */

enum { RESHAPE_TARGET };

static const struct attribute_spec reshape_attributes[] = {
	[RESHAPE_TARGET] = { "target_shape", ATTRIBUTE_IS_INTS, .required = true, .hashed = true, .min = -1,
			     .max = 1 << 30, .items_min = 1, .items_max = CONFIG_SHAPE_MAX },
};

static int reshape_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			 struct error *err)
{
	const struct attribute *target = &node->attribute[RESHAPE_TARGET];
	const struct tensor *input = graph_at(graph, node->input[0]);
	uint64_t left = input->elements;
	uint32_t open = CONFIG_SHAPE_MAX;
	char text[SHAPE_TEXT_BYTES], wanted[SHAPE_TEXT_BYTES];

	output->rank = target->items;
	for (uint32_t i = 0; i < target->items; i++) {
		const uint64_t size = target->item[i] < 0 ? 1 : (uint64_t)target->item[i];

		if (!size || left % size || (target->item[i] < 0 && open < CONFIG_SHAPE_MAX))
			left = 0;
		else
			left /= size;
		open = target->item[i] < 0 ? i : open;
		output->shape[i] = size;
	}
	if (open < CONFIG_SHAPE_MAX)
		output->shape[open] = left;
	if (left == 0 || (open == CONFIG_SHAPE_MAX && left != 1)) {
		output->rank = 1;
		output->shape[0] = 0;
		return error_set(
			err, -EINVAL,
			"found '%s' of shape %s for a target_shape of %s, allowed: one whose %" PRIu64
			" numbers it divides without rest, -1 at most once",
			input->name, shape_text(input, text), items_text(target, wanted), input->elements);
	}
	return 0;
}

const struct op op_reshape = {
	.name = "reshape",
	.inputs = 1,
	.masking = MASKING_ENDS,
	.view = true,
	.attributes = COUNT(reshape_attributes),
	.attribute = reshape_attributes,
	.shape = reshape_shape,
	.reference = view_reference,
	.export = view_export,
};
