/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/form.h"

void export_node(struct export *out, const struct export_node *node)
{
	struct export_node counted = *node;

	while (counted.inputs < CONFIG_INPUTS_MAX && counted.input[counted.inputs])
		counted.inputs++;
	out->writer->node(out->wire, &counted);
}

void export_constant(struct export *out, const struct export_constant *constant)
{
	out->writer->constant(out->wire, constant);
}

void export_float(struct export *out, const char *name, double value)
{
	const float number = (float)value;

	export_constant(out, &(struct export_constant){ .name = name, .dtype = DTYPE_F32, .data = &number });
}

void export_int64(struct export *out, const char *name, int64_t value, bool list)
{
	static const uint64_t one = 1;

	export_constant(
		out, &(struct export_constant){
			     .name = name, .dtype = DTYPE_I64, .rank = list, .shape = &one, .data = &value });
}

const struct graph *export_graph(const struct export *out)
{
	return out->graph;
}

const struct tensor *export_tensor(const struct export *out, uint32_t tensor)
{
	return graph_at(out->graph, tensor);
}

const char *export_input(const struct export *out, const struct node *node, uint32_t i)
{
	const struct graph *graph = out->graph;
	uint32_t input = 0;

	if (graph_at(graph, node->input[i])->dtype != DTYPE_U8)
		return graph_at(graph, node->input[i])->name;
	while (graph->input[input] != node->input[i])
		input++;
	return out->bytes[input];
}

const char *export_output(const struct export *out, const struct node *node)
{
	return graph_at(out->graph, node->output)->name;
}

const char *export_parameter(const struct export *out, const struct node *node, uint32_t i)
{
	return node->parameter[i] == GRAPH_NO_TENSOR ? NULL : graph_at(out->graph, node->parameter[i])->name;
}

struct export_inner_name export_inner(const struct node *node, const char *name)
{
	struct export_inner_name inner;

	(void)snprintf(inner.text, sizeof(inner.text), "%s/%s", node->name, name);
	return inner;
}

void export_unary(struct export *out, const struct node *node, enum export_kind kind)
{
	export_node(out, &(struct export_node){ .kind = kind,
						.output = export_output(out, node),
						.input = { export_input(out, node, 0) } });
}

void export_binary(struct export *out, enum export_kind kind, const char *a, const char *b,
		   const char *output)
{
	export_node(out, &(struct export_node){ .kind = kind, .output = output, .input = { a, b } });
}

struct export_inner_name export_of(struct export *out, const struct node *node, enum export_kind kind,
				   const char *a, const char *name)
{
	const struct export_inner_name inner = export_inner(node, name);

	export_node(out, &(struct export_node){ .kind = kind, .output = inner.text, .input = { a } });
	return inner;
}

struct export_inner_name export_both(struct export *out, const struct node *node, enum export_kind kind,
				     const char *a, const char *b, const char *name)
{
	const struct export_inner_name inner = export_inner(node, name);

	export_binary(out, kind, a, b, inner.text);
	return inner;
}

struct export_inner_name export_with(struct export *out, const struct node *node, enum export_kind kind,
				     const char *a, double number, const char *name)
{
	char constant[EXPORT_NAME_BYTES];

	(void)snprintf(constant, sizeof(constant), "%s/%s/number", node->name, name);
	export_float(out, constant, number);
	return export_both(out, node, kind, a, constant, name);
}

struct export_inner_name export_mask(struct export *out, const struct node *node, uint32_t i,
				     const char *name)
{
	const struct tensor *ids = graph_at(out->graph, graph_at(out->graph, node->input[i])->mask);
	char inner[64];
	struct export_inner_name numbers, sign;

	(void)snprintf(inner, sizeof(inner), "%s_ids", name);
	numbers = export_inner(node, inner);
	export_node(out, &(struct export_node){ .kind = EXPORT_FLOAT,
						.output = numbers.text,
						.input = { ids->name },
						.dtype = DTYPE_I64 });
	(void)snprintf(inner, sizeof(inner), "%s_sign", name);
	sign = export_of(out, node, EXPORT_SIGN, numbers.text, inner);
	/* -1 of a negative id, which no table has, becomes 1, too */
	return export_both(out, node, EXPORT_MULTIPLY, sign.text, sign.text, name);
}

void export_reshape(struct export *out, const char *a, const struct tensor *tensor, const char *output)
{
	const uint64_t count = tensor->rank + 1u;
	int64_t size[CONFIG_SHAPE_MAX + 1] = { -1 }; /* dimension 0 is the rows: -1, any number */
	char shape[EXPORT_NAME_BYTES];

	for (uint32_t i = 0; i < tensor->rank; i++)
		size[i + 1] = (int64_t)tensor->shape[i];
	(void)snprintf(shape, sizeof(shape), "%s/shape", output);
	export_constant(
		out, &(struct export_constant){
			     .name = shape, .dtype = DTYPE_I64, .rank = 1, .shape = &count, .data = size });
	export_binary(out, EXPORT_RESHAPE, a, shape, output);
}

struct export_inner_name export_reshaped(struct export *out, const struct node *node, const char *a,
					 const struct tensor *tensor, const char *name)
{
	const struct export_inner_name inner = export_inner(node, name);

	export_reshape(out, a, tensor, inner.text);
	return inner;
}

void export_fold(struct export *out, const struct node *node, enum export_kind kind, const char *name,
		 const char *output)
{
	struct export_inner_name result = { "" };

	for (uint32_t i = 1; i < node->inputs; i++) {
		const struct export_inner_name before = result;
		char step[32];

		(void)snprintf(step, sizeof(step), "%s_%u", name, i);
		result = export_inner(node, step);
		export_binary(out, kind, i == 1 ? export_input(out, node, 0) : before.text,
			      export_input(out, node, i), i + 1 < node->inputs ? result.text : output);
	}
}

uint64_t export_constant_bytes(const struct export_constant *constant)
{
	uint64_t bytes = dtype_bytes(constant->dtype);

	for (uint32_t i = 0; i < constant->rank; i++)
		bytes *= constant->shape[i];
	return bytes;
}
