/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kernels/recurrent_flags.h"
#include "model/layers/recurrent.h"

#include <string.h>

const char *const recurrent_functions[] = {
	[RECURRENT_TANH] = "tanh", [RECURRENT_SIGMOID] = "sigmoid", [RECURRENT_HARD_SIGMOID] = "hard_sigmoid",
	[RECURRENT_RELU] = "relu", [RECURRENT_LINEAR] = "linear",   NULL
};

static int function_of(const char *name)
{
	int function = 0;

	while (strcmp(recurrent_functions[function], name) != 0)
		function++;
	return function;
}

struct recurrent_sizes recurrent_sizes_of(const struct graph *graph, const struct node *node)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const uint64_t units = (uint64_t)node->attribute[RECURRENT_UNITS].i;
	const char *gate = node->op->attributes > RECURRENT_GATE_ACTIVATION
				   ? node->attribute[RECURRENT_GATE_ACTIVATION].s
				   : recurrent_functions[RECURRENT_SIGMOID];

	return (struct recurrent_sizes){
		.time = input->shape[0],
		.features = input->shape[1],
		.units = units,
		.gates = graph_at(graph, node->parameter[RECURRENT_RECURRENT_KERNEL])->shape[1] / units,
		.activation = function_of(node->attribute[RECURRENT_ACTIVATION].s),
		.gate_activation = function_of(gate),
		.sequences = node->attribute[RECURRENT_RETURN_SEQUENCES].b,
		.backwards = node->attribute[RECURRENT_GO_BACKWARDS].b,
		.in_order = node->attribute[RECURRENT_IN_ORDER].b,
		.dropout = node->attribute[RECURRENT_DROPOUT].f,
	};
}
