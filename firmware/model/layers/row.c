/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/row.h"

#include "model/plan/fuse.h"

#include <string.h>

int same_shape(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	(void)err;
	output->rank = input->rank;
	memcpy(output->shape, input->shape, sizeof(output->shape));
	return 0;
}

void emit_bias(struct plan *plan, const struct node *node, uint32_t bias)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "bias_add",
				.groups = { per_element(output) },
				ARGUMENTS([BIAS_ADD_Y] = INOUT(node->output), [BIAS_ADD_BIAS] = IN(bias),
					  [BIAS_ADD_ROWS] = ROWS_TIMES(tensor_outer(output)),
					  [BIAS_ADD_COLUMNS] = INT(tensor_last(output))),
			});
}
