/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiply: y = x0 * x1 * ... Inputs have the shape of the largest one, or are gates: of the same rank and
 * last dimension, with 1 in every other dimension, such as [1, 1, channels] beside [height, width, channels].
 */
#include "model/layers/row.h"

#include <string.h>

static bool is_gate(const struct tensor *gate, const struct tensor *of)
{
	return gate->rank == of->rank && tensor_outer(gate) == 1 && tensor_last(gate) == tensor_last(of);
}

/* Returns the index of the first input with the most numbers; the output has its shape. */
static uint32_t largest(const struct graph *graph, const struct node *node)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < node->inputs; i++)
		if (graph_at(graph, node->input[i])->elements > graph_at(graph, node->input[best])->elements)
			best = i;
	return best;
}

static int multiply_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			  struct error *err)
{
	const struct tensor *whole = graph_at(graph, node->input[largest(graph, node)]);
	char whole_text[SHAPE_TEXT_BYTES], text[SHAPE_TEXT_BYTES];

	for (uint32_t i = 0; i < node->inputs; i++) {
		const struct tensor *input = graph_at(graph, node->input[i]);

		if (!tensor_same_shape(input, whole) && !is_gate(input, whole))
			return error_set(
				err, -EINVAL,
				"found '%s' of shape %s, allowed beside '%s' of %s: the same, or 1 in "
				"all dimensions except the last",
				input->name, shape_text(input, text), whole->name,
				shape_text(whole, whole_text));
	}
	output->rank = whole->rank;
	memcpy(output->shape, whole->shape, sizeof(output->shape));
	return 0;
}

/* Appends to (+)= a * b, where b is a gate or has the shape of a. */
static void emit_product(struct plan *plan, uint32_t a, uint32_t b, uint32_t to, bool add)
{
	const uint64_t columns = graph_at(plan->graph, a)->elements;

	plan_emit(plan, &(struct launch){
				.kernel = "multiply_two",
				.groups = { { .per_row = columns, .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(a), IN(b), OUT(to), INT(add), AT(ROWS), INT(columns),
					  INT(graph_at(plan->graph, b)->elements)),
			});
}

/* Appends to[c] (+)= sum over all positions of a * b, for each row: the gradient of a gate. */
static void emit_sum(struct plan *plan, uint32_t a, uint32_t b, uint32_t to, bool add)
{
	const struct tensor *whole = graph_at(plan->graph, a);

	plan_emit(plan, &(struct launch){
				.kernel = "multiply_sum",
				.groups = { { .per_row = tensor_last(whole), .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(a), IN(b), OUT(to), INT(add), AT(ROWS), INT(tensor_outer(whole)),
					  INT(tensor_last(whole)), INT(graph_at(plan->graph, b)->elements)),
			});
}

static void multiply_forward(struct plan *plan, const struct node *node, bool training)
{
	const uint32_t first = largest(plan->graph, node);
	uint32_t product = node->input[first];

	(void)training;
	for (uint32_t i = 0; i < node->inputs; i++)
		if (i != first) {
			emit_product(plan, product, node->input[i], node->output, false);
			product = node->output;
		}
}

/* Appends the gradient of input i: dy times all other inputs. */
static void emit_gradient(struct plan *plan, const struct node *node, uint32_t i, uint32_t dx, bool add)
{
	const struct tensor *output = output_of(plan, node);
	const bool whole = tensor_same_shape(input_of(plan, node, i), output);
	const uint32_t last = i + 1 == node->inputs ? i - 1 : node->inputs - 1;
	uint32_t product = output->gradient;

	for (uint32_t j = 0; j < last; j++)
		if (j != i) {
			const struct tensor shape = *output_of(plan, node);
			const uint32_t partial = plan_work(plan, node, "product", &shape);

			emit_product(plan, product, node->input[j], partial, false);
			product = partial;
		}
	(whole ? emit_product : emit_sum)(plan, product, node->input[last], dx, add);
}

static void multiply_backward(struct plan *plan, const struct node *node)
{
	for (uint32_t i = 0; i < node->inputs; i++) {
		bool add = false;
		const uint32_t dx = plan_gradient(plan, node->input[i], &add);

		if (dx != GRAPH_NO_TENSOR)
			emit_gradient(plan, node, i, dx, add);
	}
}

/* Returns the index in input i of number `at` of the output. */
static uint64_t index_in(const struct op_reference *r, uint32_t i, uint64_t at)
{
	const uint64_t elements = graph_at(r->graph, r->node->input[i])->elements;

	return at / r->outputs * elements + at % r->outputs % elements;
}

static void multiply_reference(const struct op_reference *r)
{
	for (uint32_t i = 0; i < r->node->inputs; i++)
		for (uint64_t e = 0;
		     r->dy && r->dx[i] && e < r->rows * graph_at(r->graph, r->node->input[i])->elements; e++)
			r->dx[i][e] = 0;
	for (uint64_t at = 0; at < r->rows * r->outputs; at++) {
		r->y[at] = 1;
		for (uint32_t i = 0; i < r->node->inputs; i++) {
			double others = 1;

			r->y[at] *= r->x[i][index_in(r, i, at)];
			for (uint32_t j = 0; j < r->node->inputs; j++)
				others *= j == i ? 1 : r->x[j][index_in(r, j, at)];
			if (r->dy && r->dx[i])
				r->dx[i][index_in(r, i, at)] += r->dy[at] * others;
		}
	}
}

static void multiply_export(struct export *out, const struct node *node)
{
	export_fold(out, node, EXPORT_MULTIPLY, "product", export_output(out, node));
}

const struct op op_multiply = {
	.name = "multiply",
	.inputs = 2,
	.inputs_max = CONFIG_INPUTS_MAX,
	.shape = multiply_shape,
	.forward = multiply_forward,
	.backward = multiply_backward,
	.reference = multiply_reference,
	.export = multiply_export,
};
