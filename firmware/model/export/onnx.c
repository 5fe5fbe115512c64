/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX. Enums are field numbers of onnx.proto. A function fill_X() writes message X, for wire_message(). */
#include "core/base/version.h"
#include "model/export/form.h"

#include <string.h>

#define IR_VERSION       8
#define OPERATOR_VERSION 17

enum {
	MODEL_IR_VERSION = 1,
	MODEL_PRODUCER = 2,
	MODEL_PRODUCER_VERSION = 3,
	MODEL_GRAPH = 7,
	MODEL_OPERATORS = 8,
	MODEL_METADATA = 14
};
enum { METADATA_KEY = 1, METADATA_VALUE = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5 };
enum {
	ATTRIBUTE_NAME = 1,
	ATTRIBUTE_F = 2,
	ATTRIBUTE_I = 3,
	ATTRIBUTE_S = 4,
	ATTRIBUTE_LIST = 8,
	ATTRIBUTE_TYPE = 20
};
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_STRING = 3, TYPE_INTS = 7 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_DATA = 9 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, VALUE_TENSOR = 1, VALUE_ELEMENT = 1, VALUE_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };
enum { ELEMENT_FLOAT = 1, ELEMENT_UINT8 = 2, ELEMENT_INT64 = 7 };

static const char *const types[] = {
	[EXPORT_ADD] = "Add",
	[EXPORT_SUBTRACT] = "Sub",
	[EXPORT_MULTIPLY] = "Mul",
	[EXPORT_DIVIDE] = "Div",
	[EXPORT_MAXIMUM] = "Max",
	[EXPORT_MINIMUM] = "Min",
	[EXPORT_SIGN] = "Sign",
	[EXPORT_SQRT] = "Sqrt",
	[EXPORT_ERF] = "Erf",
	[EXPORT_EXPONENTIAL] = "Exp",
	[EXPORT_RELU] = "Relu",
	[EXPORT_LEAKY_RELU] = "LeakyRelu",
	[EXPORT_SIGMOID] = "Sigmoid",
	[EXPORT_TANH] = "Tanh",
	[EXPORT_SOFTPLUS] = "Softplus",
	[EXPORT_SOFTSIGN] = "Softsign",
	[EXPORT_SOFTMAX] = "Softmax",
	[EXPORT_IDENTITY] = "Identity",
	[EXPORT_MATMUL] = "MatMul",
	[EXPORT_CONCATENATE] = "Concat",
	[EXPORT_RESHAPE] = "Reshape",
	[EXPORT_TRANSPOSE] = "Transpose",
	[EXPORT_MEAN] = "ReduceMean",
	[EXPORT_MAX] = "ReduceMax",
	[EXPORT_GATHER] = "Gather",
	[EXPORT_SLICE] = "Slice",
	[EXPORT_SHAPE] = "Shape",
	[EXPORT_EXPAND] = "Expand",
	[EXPORT_SCATTER_ADD] = "ScatterND",
	[EXPORT_CUMULATIVE_SUM] = "CumSum",
	[EXPORT_PAD] = "Pad",
	[EXPORT_FLOAT] = "Cast",
	[EXPORT_CONVOLUTION] = "Conv",
	[EXPORT_DEPTHWISE_CONVOLUTION] = "Conv",
	[EXPORT_MAX_POOLING] = "MaxPool",
	[EXPORT_AVERAGE_POOLING] = "AveragePool",
};
_Static_assert(sizeof(types) / sizeof(types[0]) == EXPORT_KINDS, "every operation has its name");

static uint64_t element_type(enum dtype dtype)
{
	return dtype == DTYPE_I64 ? ELEMENT_INT64 : dtype == DTYPE_U8 ? ELEMENT_UINT8 : ELEMENT_FLOAT;
}

/* ---- Nodes ---- */

struct onnx_attribute {
	const char *name;
	uint32_t type;
	double number;
	const int32_t *list;
	uint32_t count;
	const char *text;
};

static void fill_attribute(struct wire *wire, const void *context)
{
	const struct onnx_attribute *attribute = context;

	wire_string(wire, ATTRIBUTE_NAME, attribute->name);
	if (attribute->type == TYPE_FLOAT)
		wire_float(wire, ATTRIBUTE_F, (float)attribute->number);
	else if (attribute->type == TYPE_INT)
		wire_varint(wire, ATTRIBUTE_I, (uint64_t)(int64_t)attribute->number);
	else if (attribute->type == TYPE_STRING)
		wire_string(wire, ATTRIBUTE_S, attribute->text);
	for (uint32_t i = 0; attribute->type == TYPE_INTS && i < attribute->count; i++)
		wire_varint(wire, ATTRIBUTE_LIST, (uint64_t)(int64_t)attribute->list[i]);
	wire_varint(wire, ATTRIBUTE_TYPE, attribute->type);
}

static void add_attribute(struct wire *wire, const struct onnx_attribute *attribute)
{
	wire_message(wire, NODE_ATTRIBUTE, fill_attribute, attribute);
}

static void add_list(struct wire *wire, const char *name, const int32_t *list, uint32_t count)
{
	add_attribute(wire, &(struct onnx_attribute){ name, TYPE_INTS, .list = list, .count = count });
}

static bool is_convolution(const struct export_node *node)
{
	return node->kind == EXPORT_CONVOLUTION || node->kind == EXPORT_DEPTHWISE_CONVOLUTION;
}

static void add_window(struct wire *wire, const struct export_node *node)
{
	const struct window *window = node->window;
	int32_t pads[4];

	for (uint32_t i = 0; i < 2; i++) {
		pads[i] = window->before[i];
		pads[i + 2] = (window->out[i] - 1) * window->stride[i] +
			      (window->size[i] - 1) * window->dilation[i] + 1 - window->in[i] -
			      window->before[i];
		pads[i + 2] = pads[i + 2] > 0 ? pads[i + 2] : 0;
	}
	add_list(wire, "kernel_shape", window->size, 2);
	add_list(wire, "strides", window->stride, 2);
	add_list(wire, "pads", pads, 4);
	if (is_convolution(node))
		add_list(wire, "dilations", window->dilation, 2);
	if (node->kind == EXPORT_DEPTHWISE_CONVOLUTION)
		add_attribute(wire, &(struct onnx_attribute){ "group", TYPE_INT,
							      .number = (double)node->channels });
}

static void fill_node(struct wire *wire, const void *context)
{
	const struct export_node *node = context;

	for (uint32_t i = 0; i < node->inputs; i++)
		wire_string(wire, NODE_INPUT, node->input[i]);
	wire_string(wire, NODE_OUTPUT, node->output);
	wire_string(wire, NODE_NAME, node->output);
	wire_string(wire, NODE_TYPE, types[node->kind]);
	switch (node->kind) {
	case EXPORT_CONVOLUTION:
	case EXPORT_DEPTHWISE_CONVOLUTION:
	case EXPORT_MAX_POOLING:
	case EXPORT_AVERAGE_POOLING:
		add_window(wire, node);
		break;
	case EXPORT_LEAKY_RELU:
		add_attribute(wire, &(struct onnx_attribute){ "alpha", TYPE_FLOAT, .number = node->alpha });
		break;
	case EXPORT_SOFTMAX:
		add_attribute(wire, &(struct onnx_attribute){ "axis", TYPE_INT, .number = -1 });
		break;
	case EXPORT_CONCATENATE:
		add_attribute(wire, &(struct onnx_attribute){ "axis", TYPE_INT, .number = node->axes[0] });
		break;
	case EXPORT_SCATTER_ADD:
		add_attribute(wire, &(struct onnx_attribute){ "reduction", TYPE_STRING, .text = "add" });
		break;
	case EXPORT_FLOAT:
		add_attribute(wire, &(struct onnx_attribute){ "to", TYPE_INT, .number = ELEMENT_FLOAT });
		break;
	case EXPORT_TRANSPOSE:
		add_list(wire, "perm", node->axes, node->axis_count);
		break;
	case EXPORT_MEAN:
	case EXPORT_MAX:
		add_attribute(wire, &(struct onnx_attribute){ "axes", TYPE_INTS, .list = node->axes,
							      .count = node->axis_count });
		add_attribute(wire,
			      &(struct onnx_attribute){ "keepdims", TYPE_INT, .number = node->keep_axes });
		break;
	default:
		break;
	}
}

/* ---- Convolutions and pooling: ONNX has images NCHW and kernels [filters, channels of a group, height,
 * width], so images and kernels are transposed ---- */

struct transpose {
	const char *input, *output;
	const int32_t *order;
};

static void fill_transpose(struct wire *wire, const void *context)
{
	const struct transpose *transpose = context;

	wire_string(wire, NODE_INPUT, transpose->input);
	wire_string(wire, NODE_OUTPUT, transpose->output);
	wire_string(wire, NODE_NAME, transpose->output);
	wire_string(wire, NODE_TYPE, "Transpose");
	add_list(wire, "perm", transpose->order, 4);
}

static void write_transpose(struct wire *graph, const char *input, const char *output, const int32_t *order)
{
	wire_message(graph, GRAPH_NODE, fill_transpose, &(struct transpose){ input, output, order });
}

static void write_constant(struct wire *graph, const struct export_constant *constant);

/* Writes the kernel of a convolution in ONNX's order; `name` gets the name of the result. */
static void write_kernel(struct wire *graph, const struct export_node *node,
			 char name[static EXPORT_NAME_BYTES])
{
	static const int32_t filters_first[] = { 3, 2, 0, 1 }, channels_first[] = { 2, 3, 0, 1 };
	const int64_t shape[] = { (int64_t)node->filters, 1, node->window->size[0], node->window->size[1] };
	char turned[EXPORT_NAME_BYTES], size[EXPORT_NAME_BYTES];
	const uint64_t dimensions = 4;

	(void)snprintf(name, EXPORT_NAME_BYTES, "%s/kernel_oihw", node->output);
	if (node->kind == EXPORT_CONVOLUTION) {
		write_transpose(graph, node->input[1], name, filters_first);
		return;
	}
	(void)snprintf(turned, sizeof(turned), "%s/kernel_imhw", node->output);
	(void)snprintf(size, sizeof(size), "%s/kernel_shape", node->output);
	write_transpose(graph, node->input[1], turned, channels_first);
	write_constant(
		graph,
		&(struct export_constant){
			.name = size, .dtype = DTYPE_I64, .rank = 1, .shape = &dimensions, .data = shape });
	wire_message(
		graph, GRAPH_NODE, fill_node,
		&(struct export_node){
			.kind = EXPORT_RESHAPE, .output = name, .input = { turned, size }, .inputs = 2 });
}

static void write_spatial(struct wire *graph, const struct export_node *node)
{
	static const int32_t channels_first[] = { 0, 3, 1, 2 }, channels_last[] = { 0, 2, 3, 1 };
	char image[EXPORT_NAME_BYTES], kernel[EXPORT_NAME_BYTES], result[EXPORT_NAME_BYTES];
	struct export_node inner = *node;

	(void)snprintf(image, sizeof(image), "%s/image_nchw", node->output);
	(void)snprintf(result, sizeof(result), "%s/nchw", node->output);
	write_transpose(graph, node->input[0], image, channels_first);
	inner.input[0] = image;
	inner.output = result;
	if (is_convolution(node)) {
		write_kernel(graph, node, kernel);
		inner.input[1] = kernel;
	}
	wire_message(graph, GRAPH_NODE, fill_node, &inner);
	write_transpose(graph, result, node->output, channels_last);
}

/* Writes a padding and its second input: the zeros before each dimension, then those after each. */
static void write_padding(struct wire *graph, const struct export_node *node)
{
	const int32_t *sides = node->padding;
	const int64_t padding[] = { 0, sides[0], sides[2], 0, 0, sides[1], sides[3], 0 };
	const uint64_t count = 8;
	char name[EXPORT_NAME_BYTES];
	struct export_node padded = *node;

	(void)snprintf(name, sizeof(name), "%s/padding", node->output);
	write_constant(
		graph,
		&(struct export_constant){
			.name = name, .dtype = DTYPE_I64, .rank = 1, .shape = &count, .data = padding });
	padded.input[padded.inputs++] = name;
	wire_message(graph, GRAPH_NODE, fill_node, &padded);
}

static void write_node(struct wire *graph, const struct export_node *node)
{
	if (node->window)
		write_spatial(graph, node);
	else if (node->kind == EXPORT_PAD)
		write_padding(graph, node);
	else
		wire_message(graph, GRAPH_NODE, fill_node, node);
}

/* ---- Values ---- */

static void fill_constant(struct wire *wire, const void *context)
{
	const struct export_constant *constant = context;

	for (uint32_t i = 0; i < constant->rank; i++)
		wire_varint(wire, TENSOR_DIMS, constant->shape[i]);
	wire_varint(wire, TENSOR_TYPE, element_type(constant->dtype));
	wire_string(wire, TENSOR_NAME, constant->name);
	wire_bytes(wire, TENSOR_DATA, constant->data, export_constant_bytes(constant));
}

static void write_constant(struct wire *graph, const struct export_constant *constant)
{
	wire_message(graph, GRAPH_INITIALIZER, fill_constant, constant);
}

/* Writes the name of the first dimension. Ragged values and splits have more or fewer numbers than the batch
 * has rows, so they get a name different from "rows". */
static void fill_rows(struct wire *wire, const void *context)
{
	const struct tensor *tensor = context;

	wire_string(wire, DIM_PARAM, tensor->rows ? "rows" : tensor->name);
}

static void fill_dimension(struct wire *wire, const void *context)
{
	wire_varint(wire, DIM_VALUE, *(const uint64_t *)context);
}

static void fill_shape(struct wire *wire, const void *context)
{
	const struct tensor *tensor = context;

	wire_message(wire, SHAPE_DIM, fill_rows, tensor);
	for (uint32_t i = 0; tensor->rows && i < tensor->rank; i++)
		wire_message(wire, SHAPE_DIM, fill_dimension, &tensor->shape[i]);
}

static void fill_tensor_type(struct wire *wire, const void *context)
{
	const struct tensor *tensor = context;

	wire_varint(wire, VALUE_ELEMENT, element_type(tensor->dtype));
	wire_message(wire, VALUE_SHAPE, fill_shape, tensor);
}

static void fill_type(struct wire *wire, const void *context)
{
	wire_message(wire, VALUE_TENSOR, fill_tensor_type, context);
}

static void fill_value(struct wire *wire, const void *context)
{
	const struct tensor *tensor = context;

	wire_string(wire, VALUE_NAME, tensor->name);
	wire_message(wire, VALUE_TYPE, fill_type, tensor);
}

static void write_input(struct wire *graph, const struct tensor *tensor)
{
	wire_message(graph, GRAPH_INPUT, fill_value, tensor);
}

static void write_output(struct wire *graph, const struct tensor *tensor)
{
	wire_string(graph, GRAPH_NAME, "kiln");
	wire_message(graph, GRAPH_OUTPUT, fill_value, tensor);
}

/* ---- The file ---- */

static void fill_operators(struct wire *wire, const void *context)
{
	(void)context;
	wire_string(wire, 1, "");
	wire_varint(wire, 2, OPERATOR_VERSION);
}

struct metadata {
	const char *key, *value;
};

static void fill_metadata(struct wire *wire, const void *context)
{
	const struct metadata *metadata = context;

	wire_string(wire, METADATA_KEY, metadata->key);
	wire_string(wire, METADATA_VALUE, metadata->value);
}

static void write_metadata(struct wire *file, const char *key, const char *value)
{
	if (value)
		wire_message(file, MODEL_METADATA, fill_metadata, &(struct metadata){ key, value });
}

static void write_file(struct wire *file, const struct graph *graph, const struct about *about,
		       void (*fill)(struct wire *graph, const void *context), const void *context)
{
	(void)graph;
	wire_varint(file, MODEL_IR_VERSION, IR_VERSION);
	wire_string(file, MODEL_PRODUCER, "kiln");
	wire_string(file, MODEL_PRODUCER_VERSION, KILN_VERSION);
	wire_message(file, MODEL_OPERATORS, fill_operators, NULL);
	wire_message(file, MODEL_GRAPH, fill, context);
	write_metadata(file, ABOUT_SCHEMA, about->schema);
	write_metadata(file, ABOUT_CLASSES, about->classes);
}

const struct export_writer export_onnx = {
	.node = write_node,
	.constant = write_constant,
	.input = write_input,
	.output = write_output,
	.file = write_file,
};
