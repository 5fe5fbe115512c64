/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zero_padding2d: lines and columns of zeros around an image [height, width, channels]. zero_padding1d: steps
 * of zeros before and behind a sequence [steps, channels], which is an image whose lines are the steps, with
 * one column.
 */
#include "model/layers/row.h"

#define PADDING_MAX 1024

enum { PADDING };

/* One number for all sides, [ height, width ], or [ top, bottom, left, right ]. */
static const struct attribute_spec padding_attributes[] = {
	[PADDING] = { "padding", ATTRIBUTE_IS_INTS, .hashed = true, .fallback = 1, .max = PADDING_MAX,
		      .items_min = 1, .items_max = 4, .one_for_all = true },
};

/* One number for both ends, or [ before, behind ]. */
static const struct attribute_spec padding1d_attributes[] = {
	[PADDING] = { "padding", ATTRIBUTE_IS_INTS, .hashed = true, .fallback = 1, .max = PADDING_MAX,
		      .items_min = 1, .items_max = 2, .one_for_all = true },
};

struct sides {
	uint64_t top, bottom, left, right;
};

extern const struct op op_zero_padding1d;

static bool is_sequence(const struct node *node)
{
	return node->op == &op_zero_padding1d;
}

static struct sides sides_of(const struct node *node)
{
	const struct attribute *padding = &node->attribute[PADDING];
	uint64_t side[4];

	if (is_sequence(node))
		return (struct sides){ .top = (uint64_t)padding->item[0],
				       .bottom = (uint64_t)padding->item[padding->items - 1] };
	for (uint32_t i = 0; i < 4; i++)
		side[i] = (uint64_t)padding->item[padding->items == 4 ? i : padding->items == 2 ? i / 2 : 0];
	return (struct sides){ side[0], side[1], side[2], side[3] };
}

static int padding1d_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			   struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const struct sides sides = sides_of(node);
	int r = tensor_check_sequence(input, err);

	if (r < 0)
		return r;
	output->rank = 2;
	output->shape[0] = input->shape[0] + sides.top + sides.bottom;
	output->shape[1] = input->shape[1];
	return 0;
}

static int padding_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			 struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const struct sides sides = sides_of(node);
	int r;

	if (node->attribute[PADDING].items == 3)
		return error_set(err, -EINVAL,
				 "found a padding of 3 integers, allowed: one integer for all sides, "
				 "[ height, width ] or [ top, bottom, left, right ]");
	if ((r = tensor_check_image(input, err)) < 0)
		return r;
	output->rank = 3;
	output->shape[0] = input->shape[0] + sides.top + sides.bottom;
	output->shape[1] = input->shape[1] + sides.left + sides.right;
	output->shape[2] = input->shape[2];
	return 0;
}

/* Appends the copy of an image into another one, moved by `top` lines and `left` columns; numbers of `to`
 * that have no number of `from` become 0. */
static void emit_move(struct plan *plan, uint32_t from, uint32_t to, int64_t top, int64_t left, bool add)
{
	const struct tensor *source = graph_at(plan->graph, from), *target = graph_at(plan->graph, to);
	const uint64_t channels = tensor_last(target);

	plan_emit(plan,
		  &(struct launch){
			  .kernel = plan->cpu ? "move_lines" : "move_image",
			  .groups = { plan->cpu ? (struct extent){ .per_row = target->shape[0] }
						: per_element(target) },
			  ARGUMENTS(IN(from), argument_optional(to, add ? ARGUMENT_INOUT : ARGUMENT_OUT),
				    INT(add), AT(ROWS), INT(target->elements),
				    INT(target->elements / target->shape[0]), INT(source->shape[0]),
				    INT(source->elements / source->shape[0]), INT(top),
				    INT(left * (int64_t)channels)),
		  });
}

static void padding_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct sides sides = sides_of(node);

	(void)training;
	emit_move(plan, node->input[0], node->output, (int64_t)sides.top, (int64_t)sides.left, false);
}

static void padding_backward(struct plan *plan, const struct node *node)
{
	const struct sides sides = sides_of(node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx != GRAPH_NO_TENSOR)
		emit_move(plan, output_of(plan, node)->gradient, dx, -(int64_t)sides.top,
			  -(int64_t)sides.left, add);
}

static void padding_reference(const struct op_reference *r)
{
	const struct tensor *in = graph_at(r->graph, r->node->input[0]),
			    *out = graph_at(r->graph, r->node->output);
	const struct sides sides = sides_of(r->node);
	const uint64_t line = in->elements / in->shape[0], wide = out->elements / out->shape[0];

	for (uint64_t i = 0; i < r->rows * r->outputs; i++)
		r->y[i] = 0;
	for (uint64_t row = 0; row < r->rows; row++)
		for (uint64_t y = 0; y < in->shape[0]; y++)
			for (uint64_t x = 0; x < line; x++) {
				const uint64_t from = row * r->inputs + y * line + x;
				const uint64_t to = row * r->outputs + (y + sides.top) * wide +
						    sides.left * tensor_last(in) + x;

				r->y[to] = r->x[0][from];
				if (r->dy && r->dx[0])
					r->dx[0][from] = r->dy[to];
			}
}

static void export_pad(struct export *out, const struct node *node, const char *image, const char *output)
{
	const struct sides sides = sides_of(node);

	export_node(out, &(struct export_node){ .kind = EXPORT_PAD,
						.output = output,
						.input = { image },
						.padding = { (int32_t)sides.top, (int32_t)sides.bottom,
							     (int32_t)sides.left, (int32_t)sides.right } });
}

static void padding_export(struct export *out, const struct node *node)
{
	export_pad(out, node, export_input(out, node, 0), export_output(out, node));
}

static void padding1d_export(struct export *out, const struct node *node)
{
	const struct tensor *input = export_tensor(out, node->input[0]);
	const struct tensor column = { .rank = 3, .shape = { input->shape[0], 1, input->shape[1] } };
	const struct export_inner_name image = export_reshaped(out, node, export_input(out, node, 0), &column,
							       "image"),
				       padded = export_inner(node, "column");

	export_pad(out, node, image.text, padded.text);
	export_reshape(out, padded.text, export_tensor(out, node->output), export_output(out, node));
}

#define PADDING_ROW(kind, op_name)                                                               \
	{                                                                                        \
		.name = #op_name, .inputs = 1, .masking = MASKING_ENDS,                          \
		.attributes = COUNT(kind##_attributes), .attribute = kind##_attributes,          \
		.shape = kind##_shape, .forward = padding_forward, .backward = padding_backward, \
		.reference = padding_reference, .export = kind##_export                          \
	}
const struct op op_zero_padding2d = PADDING_ROW(padding, zero_padding2d);
const struct op op_zero_padding1d = PADDING_ROW(padding1d, zero_padding1d);
