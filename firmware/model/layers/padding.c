/* SPDX-License-Identifier: Apache-2.0 */
/* zero_padding2d: lines and columns of zeros around an image [height, width, channels]. */
#include "model/layers/row.h"

#define PADDING_MAX 1024

enum { PADDING };

/* One number for all sides, [ height, width ], or [ top, bottom, left, right ]. */
static const struct attribute_spec padding_attributes[] = {
	[PADDING] = { "padding", ATTRIBUTE_IS_INTS, .hashed = true, .fallback = 1, .max = PADDING_MAX,
		      .items_min = 1, .items_max = 4, .one_for_all = true },
};

struct sides {
	uint64_t top, bottom, left, right;
};

static struct sides sides_of(const struct node *node)
{
	const struct attribute *padding = &node->attribute[PADDING];
	uint64_t side[4];

	for (uint32_t i = 0; i < 4; i++)
		side[i] = (uint64_t)padding->item[padding->items == 4 ? i : padding->items == 2 ? i / 2 : 0];
	return (struct sides){ side[0], side[1], side[2], side[3] };
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
	const uint64_t channels = target->shape[2];

	plan_emit(plan, &(struct launch){
				.kernel = plan->cpu ? "move_lines" : "move_image",
				.groups = { plan->cpu ? (struct extent){ .per_row = target->shape[0] }
						      : per_element(target) },
				ARGUMENTS(IN(from), OUT(to), INT(add), AT(ROWS), INT(target->elements),
					  INT(target->shape[1] * channels), INT(source->shape[0]),
					  INT(source->shape[1] * channels), INT(top),
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
	const uint64_t line = in->shape[1] * in->shape[2], wide = out->shape[1] * out->shape[2];

	for (uint64_t i = 0; i < r->rows * r->outputs; i++)
		r->y[i] = 0;
	for (uint64_t row = 0; row < r->rows; row++)
		for (uint64_t y = 0; y < in->shape[0]; y++)
			for (uint64_t x = 0; x < line; x++) {
				const uint64_t from = row * r->inputs + y * line + x;
				const uint64_t to = row * r->outputs + (y + sides.top) * wide +
						    sides.left * in->shape[2] + x;

				r->y[to] = r->x[0][from];
				if (r->dy && r->dx[0])
					r->dx[0][from] = r->dy[to];
			}
}

static void padding_export(struct export *out, const struct node *node)
{
	const struct sides sides = sides_of(node);

	export_node(out, &(struct export_node){ .kind = EXPORT_PAD,
						.output = export_output(out, node),
						.input = { export_input(out, node, 0) },
						.padding = { (int32_t)sides.top, (int32_t)sides.bottom,
							     (int32_t)sides.left, (int32_t)sides.right } });
}

const struct op op_zero_padding2d = {
	.name = "zero_padding2d",
	.inputs = 1,
	.attributes = COUNT(padding_attributes),
	.attribute = padding_attributes,
	.shape = padding_shape,
	.forward = padding_forward,
	.backward = padding_backward,
	.reference = padding_reference,
	.export = padding_export,
};
