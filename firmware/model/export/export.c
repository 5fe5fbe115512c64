/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/export_ops.h"

#include "model/layers/op.h"

#include <inttypes.h>
#include <string.h>

/* Limit of a protocol buffer's message. */
#define FILE_MAX INT32_MAX

struct export
{
	struct wire *wire;
	const struct graph *graph;
	const struct export_writer *writer;
	export_weights *weights;
	void *context;
};

static const struct {
	const char *name, *file;
	const struct export_writer *writer;
} forms[] = {
	[EXPORT_ONNX] = { "onnx", "model.onnx", &export_onnx },
	[EXPORT_SAVED_MODEL] = { "saved_model", "saved_model/1/saved_model.pb", &export_saved_model },
};
_Static_assert(sizeof(forms) / sizeof(forms[0]) == EXPORT_FORMS, "every form has its writer");

const char *export_name(enum export_form form)
{
	return forms[form].name;
}

const char *export_file(enum export_form form)
{
	return forms[form].file;
}

/* ---- Called by layers ---- */

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
	return graph_at(out->graph, node->input[i])->name;
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

/* ---- Called by forms ---- */

uint64_t export_constant_bytes(const struct export_constant *constant)
{
	uint64_t bytes = dtype_bytes(constant->dtype);

	for (uint32_t i = 0; i < constant->rank; i++)
		bytes *= constant->shape[i];
	return bytes;
}

/* ---- The graph ---- */

static void write_weights(struct export *out)
{
	for (uint32_t i = 0; i < out->graph->tensors; i++) {
		const struct tensor *tensor = graph_at(out->graph, i);

		if (tensor->role == ROLE_PARAMETER || tensor->role == ROLE_STATE)
			export_constant(out, &(struct export_constant){
						     .name = tensor->name,
						     .dtype = tensor->dtype,
						     .rank = tensor->rank,
						     .shape = tensor->shape,
						     .data = out->weights(out->context, tensor->name),
					     });
	}
}

static void write_graph(struct wire *wire, const void *context)
{
	struct export out = *(const struct export *)context;
	const struct graph *graph = out.graph;

	out.wire = wire;
	for (uint32_t i = 0; i < graph->inputs; i++)
		out.writer->input(wire, graph_at(graph, graph->input[i]));
	write_weights(&out);
	for (uint32_t i = 0; i < graph->nodes; i++)
		graph->node[i].op->export(&out, &graph->node[i]);
	out.writer->output(wire, graph_at(graph, graph->output));
}

static int check(const struct export *out, struct error *err)
{
	for (uint32_t i = 0; i < out->graph->tensors; i++) {
		const struct tensor *tensor = graph_at(out->graph, i);

		if ((tensor->role == ROLE_PARAMETER || tensor->role == ROLE_STATE) &&
		    !out->weights(out->context, tensor->name))
			return error_set(err, -ENOENT, "'%s': the model's file has no such tensor",
					 tensor->name);
	}
	return 0;
}

int export_model(const struct graph *graph, export_weights *weights, void *context, enum export_form form,
		 uint8_t **ret_data, uint64_t *ret_bytes, struct error *err)
{
	const struct export out = {
		.graph = graph, .writer = forms[form].writer, .weights = weights, .context = context
	};
	struct wire wire = { 0 };
	int r = check(&out, err);

	if (r < 0)
		return r;
	out.writer->file(&wire, graph, write_graph, &out);
	if (wire.bytes > FILE_MAX)
		return error_set(err, -E2BIG, "%s: %" PRIu64 " bytes, allowed: up to %d", forms[form].name,
				 wire.bytes, FILE_MAX);
	wire = (struct wire){ .data = malloc(wire.bytes), .capacity = wire.bytes };
	if (!wire.data)
		return error_set(err, -ENOMEM, "%s: no memory for %" PRIu64 " bytes", forms[form].name,
				 wire.capacity);
	out.writer->file(&wire, graph, write_graph, &out);
	*ret_data = wire.data;
	*ret_bytes = wire.bytes;
	return 0;
}
