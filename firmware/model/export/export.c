/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/form.h"

#include "model/formats/expect.h"
#include "model/formats/names.h"
#include "model/graph/op.h"

#include <inttypes.h>
#include <string.h>

/* Protocol buffers allow no larger message. */
#define FILE_MAX INT32_MAX

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

/* ---- The graph ---- */

/* Returns the data of a tensor that the weights have; expect_tensors() has checked that they have it. */
static const void *data_of(const struct export_weights *weights, const char *name)
{
	return name_find(weights->tensor, weights->count, name)->data;
}

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
						     .data = data_of(out->weights, tensor->name),
					     });
	}
}

/* Writes the conversions of features of uint8. */
static void write_floats(struct export *out)
{
	for (uint32_t i = 0; i < out->graph->inputs; i++) {
		const struct tensor *tensor = graph_at(out->graph, out->graph->input[i]);

		if (tensor->dtype != DTYPE_U8)
			continue;
		(void)snprintf(out->bytes[i], sizeof(out->bytes[i]), "%s/float32", tensor->name);
		export_node(out, &(struct export_node){ .kind = EXPORT_FLOAT,
							.dtype = DTYPE_U8,
							.output = out->bytes[i],
							.input = { tensor->name } });
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
	write_floats(&out);
	for (uint32_t i = 0; i < graph->nodes; i++)
		graph->node[i].op->export(&out, &graph->node[i]);
	out.writer->output(wire, graph_at(graph, graph->output));
}

int export_model(const struct graph *graph, const struct export_weights *weights, const struct about *about,
		 enum export_form form, uint8_t **ret_data, uint64_t *ret_bytes, struct error *err)
{
	const struct export out = { .graph = graph, .writer = forms[form].writer, .weights = weights };
	const struct about nothing = { 0 };
	struct wire wire = { 0 };
	int r = expect_tensors(graph, EXPECT_PARAMETERS, forms[form].name, weights->tensor, weights->count,
			       err);

	if (r < 0)
		return r;
	out.writer->file(&wire, graph, about ? about : &nothing, write_graph, &out);
	if (wire.bytes > FILE_MAX)
		return error_set(err, -E2BIG, "%s: %" PRIu64 " bytes, allowed: up to %d", forms[form].name,
				 wire.bytes, FILE_MAX);
	wire = (struct wire){ .data = malloc(wire.bytes), .capacity = wire.bytes };
	if (!wire.data)
		return error_set(err, -ENOMEM, "%s: no memory for %" PRIu64 " bytes", forms[form].name,
				 wire.capacity);
	out.writer->file(&wire, graph, about ? about : &nothing, write_graph, &out);
	*ret_data = wire.data;
	*ret_bytes = wire.bytes;
	return 0;
}
