/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/row.h"

#include "model/plan/fuse.h"

#include <inttypes.h>
#include <string.h>

int same_shape(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	(void)err;
	output->rank = input->rank;
	memcpy(output->shape, input->shape, sizeof(output->shape));
	return 0;
}

int refuse_input(const struct graph *graph, const struct node *node, uint32_t i, const char *allowed,
		 struct error *err)
{
	const struct tensor *first = graph_at(graph, node->input[0]),
			    *other = graph_at(graph, node->input[i]);
	char first_text[SHAPE_TEXT_BYTES], other_text[SHAPE_TEXT_BYTES];

	return error_set(err, -EINVAL, "found '%s' of shape %s, allowed beside '%s' of %s: %s", other->name,
			 shape_text(other, other_text), first->name, shape_text(first, first_text), allowed);
}

int same_shapes(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err)
{
	for (uint32_t i = 1; i < node->inputs; i++)
		if (!tensor_same_shape(graph_at(graph, node->input[0]), graph_at(graph, node->input[i])))
			return refuse_input(graph, node, i, "the same", err);
	return same_shape(graph, node, output, err);
}

void emit_bias(struct plan *plan, const struct node *node, uint32_t bias)
{
	const struct tensor *output = output_of(plan, node);

	emit_bias_of(plan, node->output, bias, tensor_outer(output), tensor_last(output));
}

void emit_bias_of(struct plan *plan, uint32_t tensor, uint32_t bias, uint64_t outer, uint64_t columns)
{
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "bias_add",
			  .groups = { { .per_row = outer * columns, .tile = ELEMENT_GROUP } },
			  ARGUMENTS([BIAS_ADD_Y] = INOUT(tensor), [BIAS_ADD_BIAS] = IN(bias),
				    [BIAS_ADD_ROWS] = ROWS_TIMES(outer), [BIAS_ADD_COLUMNS] = INT(columns)),
		  });
}

void emit_column_sums(struct plan *plan, uint32_t tensor, uint32_t sums, uint64_t outer, uint64_t columns)
{
	plan_emit(plan, &(struct launch){
				.kernel = "column_sums",
				.groups = { { .fixed = columns, .tile = ELEMENT_GROUP } },
				ARGUMENTS([COLUMN_SUMS_X] = IN(tensor), [COLUMN_SUMS_SUMS] = OUT(sums),
					  [COLUMN_SUMS_ROWS] = ROWS_TIMES(outer),
					  [COLUMN_SUMS_COLUMNS] = INT(columns)),
			});
}

const char *items_text(const struct attribute *list, char out[static SHAPE_TEXT_BYTES])
{
	size_t used = 0;

	for (uint32_t i = 0; i < list->items; i++)
		used += (size_t)snprintf(out + used, SHAPE_TEXT_BYTES - used, "%s%" PRId64, i ? ", " : "[",
					 list->item[i]);
	(void)snprintf(out + used, SHAPE_TEXT_BYTES - used, "]");
	return out;
}
