/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/saved_graph.h"

#define SCHEMA_VERSION 1

enum { SAVED_VERSION = 1, SAVED_META_GRAPH = 2 };
enum { META_INFO = 1, META_GRAPH = 2, META_SIGNATURE = 5, INFO_ANY = 3, INFO_TAGS = 4 };
enum { ANY_TYPE = 1, ANY_VALUE = 2, STRUCT_FIELDS = 1, STRUCT_STRING = 3 };
enum { SIGNATURE_INPUTS = 1, SIGNATURE_OUTPUTS = 2, SIGNATURE_METHOD = 3 };
enum { INFO_NAME = 1, INFO_TYPE = 2, INFO_SHAPE = 3 };

/* ---- The signature ---- */

static void fill_info(struct wire *wire, const void *context)
{
	const struct tensor *tensor = context;

	saved_name(wire, INFO_NAME, tensor->name, ":0");
	wire_varint(wire, INFO_TYPE, saved_type(tensor->dtype));
	wire_message(wire, INFO_SHAPE, saved_fill_batch_shape, tensor);
}

static void fill_info_entry(struct wire *wire, const void *context)
{
	wire_string(wire, MAP_KEY, ((const struct tensor *)context)->name);
	wire_message(wire, MAP_VALUE, fill_info, context);
}

static void fill_signature(struct wire *wire, const void *context)
{
	const struct graph *graph = context;

	for (uint32_t i = 0; i < graph->inputs; i++)
		wire_message(wire, SIGNATURE_INPUTS, fill_info_entry, graph_at(graph, graph->input[i]));
	wire_message(wire, SIGNATURE_OUTPUTS, fill_info_entry, graph_at(graph, graph->output));
	wire_string(wire, SIGNATURE_METHOD, "tensorflow/serving/predict");
}

static void fill_signature_entry(struct wire *wire, const void *context)
{
	wire_string(wire, MAP_KEY, "serving_default");
	wire_message(wire, MAP_VALUE, fill_signature, context);
}

/* ---- The file ---- */

struct file {
	const struct graph *graph;
	const struct about *about;
	void (*fill)(struct wire *graph, const void *context);
	const void *context;
};

/* A field of google.protobuf.Struct. */
struct about_text {
	const char *key, *value;
};

static void fill_about_value(struct wire *wire, const void *context)
{
	wire_string(wire, STRUCT_STRING, ((const struct about_text *)context)->value);
}

static void fill_about_entry(struct wire *wire, const void *context)
{
	wire_string(wire, MAP_KEY, ((const struct about_text *)context)->key);
	wire_message(wire, MAP_VALUE, fill_about_value, context);
}

static void fill_about(struct wire *wire, const void *context)
{
	const struct about *about = context;
	const struct about_text texts[] = { { ABOUT_SCHEMA, about->schema },
					    { ABOUT_CLASSES, about->classes } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].value)
			wire_message(wire, STRUCT_FIELDS, fill_about_entry, &texts[i]);
}

static void fill_any(struct wire *wire, const void *context)
{
	wire_string(wire, ANY_TYPE, "type.googleapis.com/google.protobuf.Struct");
	wire_message(wire, ANY_VALUE, fill_about, context);
}

static void fill_info_of_meta(struct wire *wire, const void *context)
{
	wire_message(wire, INFO_ANY, fill_any, context);
	wire_string(wire, INFO_TAGS, "serve");
}

static void fill_meta_graph(struct wire *wire, const void *context)
{
	const struct file *file = context;

	wire_message(wire, META_INFO, fill_info_of_meta, file->about);
	wire_message(wire, META_GRAPH, file->fill, file->context);
	wire_message(wire, META_SIGNATURE, fill_signature_entry, file->graph);
}

static void write_file(struct wire *out, const struct graph *graph, const struct about *about,
		       void (*fill)(struct wire *graph, const void *context), const void *context)
{
	const struct file file = { graph, about, fill, context };

	wire_varint(out, SAVED_VERSION, SCHEMA_VERSION);
	wire_message(out, SAVED_META_GRAPH, fill_meta_graph, &file);
}

const struct export_writer export_saved_model = {
	.node = saved_node,
	.constant = saved_constant,
	.input = saved_input,
	.output = saved_output,
	.file = write_file,
};
