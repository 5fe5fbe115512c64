/* SPDX-License-Identifier: Apache-2.0 */
/*
 * position_embedding, as in KerasHub: a learnt vector for each step. The output has the shape of the input,
 * [steps, columns], and the same numbers in each row: the vectors of the first steps. A layer `add` then adds
 * them to the input. The input gives the shape alone, so no gradient goes to it.
 */
#include "model/graph/random.h"
#include "model/layers/row.h"

#include <inttypes.h>

enum { SEQUENCE_LENGTH, POSITION_INITIALIZER };
enum { POSITIONS, POSITION_PARAMETERS };

static const struct attribute_spec position_attributes[] = {
	[SEQUENCE_LENGTH] = { "sequence_length", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
			      .max = 1 << 20 },
	[POSITION_INITIALIZER] = { "initializer", ATTRIBUTE_IS_NAME, .names = initializer_names,
				   .fallback_name = "glorot_uniform" },
};

static const struct parameter_spec position_parameters[POSITION_PARAMETERS] = {
	[POSITIONS] = { "embeddings", POSITION_INITIALIZER, .only_if = -1,
			.shape = { ATTRIBUTE_ITEM(SEQUENCE_LENGTH, 0), INPUT_LAST } },
};

static int position_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			  struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const int64_t length = node->attribute[SEQUENCE_LENGTH].i;
	int r = tensor_check_sequence(input, err);

	if (r < 0)
		return r;
	if (input->shape[0] > (uint64_t)length)
		return error_set(err, -EINVAL,
				 "found sequence_length %" PRId64 " for an input of %" PRIu64
				 " steps, allowed: at least as many",
				 length, input->shape[0]);
	return same_shape(graph, node, output, err);
}

static void position_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = "step_vectors",
				.groups = { per_element(output) },
				ARGUMENTS(IN(node->parameter[POSITIONS]), OUT(node->output), AT(ROWS),
					  INT(output->elements)),
			});
}

/* Where no other layer stores into the gradient of the input, it becomes zero. */
static void emit_no_gradient(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR || add)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "rescale",
				.groups = { per_element(output) },
				ARGUMENTS(IN(output->gradient), OUT(dx), FLOAT(0), FLOAT(0), INT(false),
					  AT(ROWS), INT(output->elements)),
			});
}

static void position_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	const uint32_t gradient = parameter_gradient(plan, node, POSITIONS);

	emit_no_gradient(plan, node);
	if (gradient == GRAPH_NO_TENSOR)
		return;
	const uint64_t numbers = graph_at(plan->graph, gradient)->elements;

	plan_emit(plan, &(struct launch){
				.kernel = "step_vector_sums",
				.groups = { { .fixed = numbers, .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(output->gradient), OUT(gradient), AT(ROWS),
					  INT(output->elements), INT(numbers)),
			});
}

static void position_reference(const struct op_reference *r)
{
	const uint64_t numbers = graph_at(r->graph, r->node->parameter[POSITIONS])->elements;

	for (uint64_t i = 0; i < r->rows * r->outputs; i++)
		r->y[i] = r->parameter[POSITIONS][i % r->outputs];
	if (!r->dy)
		return;
	for (uint64_t i = 0; r->dx[0] && i < r->rows * r->inputs; i++)
		r->dx[0][i] = 0;
	for (uint64_t i = 0; r->dparameter[POSITIONS] && i < numbers; i++)
		r->dparameter[POSITIONS][i] = 0;
	for (uint64_t i = 0; r->dparameter[POSITIONS] && i < r->rows * r->outputs; i++)
		r->dparameter[POSITIONS][i % r->outputs] += r->dy[i];
}

/* Cuts the vectors of the first steps. */
static void position_export(struct export *out, const struct node *node)
{
	const struct tensor *output = export_tensor(out, node->output);
	const struct export_inner_name begin = export_inner(node, "begin"), end = export_inner(node, "end"),
				       first = export_inner(node, "first"),
				       shape = export_inner(node, "shape");
	const int64_t from = 0, to = (int64_t)output->shape[0];
	const uint64_t one = 1;

	export_constant(
		out,
		&(struct export_constant){
			.name = begin.text, .dtype = DTYPE_I64, .rank = 1, .shape = &one, .data = &from });
	export_constant(
		out, &(struct export_constant){
			     .name = end.text, .dtype = DTYPE_I64, .rank = 1, .shape = &one, .data = &to });
	export_node(out, &(struct export_node){
				 .kind = EXPORT_SLICE,
				 .output = first.text,
				 .input = { export_parameter(out, node, POSITIONS), begin.text, end.text } });
	export_node(out, &(struct export_node){ .kind = EXPORT_SHAPE,
						.output = shape.text,
						.input = { export_input(out, node, 0) } });
	export_binary(out, EXPORT_EXPAND, first.text, shape.text, export_output(out, node));
}

const struct op op_position_embedding = {
	.name = "position_embedding",
	.inputs = 1,
	.attributes = COUNT(position_attributes),
	.attribute = position_attributes,
	.parameters = COUNT(position_parameters),
	.parameter = position_parameters,
	.masking = MASKING_PASSES,
	.shape = position_shape,
	.forward = position_forward,
	.backward = position_backward,
	.reference = position_reference,
	.export = position_export,
};
