/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/saved_graph.h"

#include <string.h>

/* Version of the GraphDef, that of TensorFlow 2.0: every later reader accepts it. */
#define PRODUCER 119

enum { GRAPH_NODE = 1, GRAPH_VERSIONS = 4, VERSIONS_PRODUCER = 1 };
enum { NODE_NAME = 1, NODE_OP = 2, NODE_INPUT = 3, NODE_ATTRIBUTE = 5 };
enum {
	VALUE_LIST = 1,
	VALUE_S = 2,
	VALUE_I = 3,
	VALUE_F = 4,
	VALUE_B = 5,
	VALUE_TYPE = 6,
	VALUE_SHAPE = 7,
	VALUE_TENSOR = 8
};
enum { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4, SHAPE_DIM = 2, DIM_SIZE = 1 };
enum { DT_FLOAT = 1, DT_INT32 = 3, DT_UINT8 = 4, DT_INT64 = 9 };

static const struct {
	const char *op;
	const char *index_type; /* attribute that holds the type of index inputs; NULL: the op has none */
} types[] = {
	[EXPORT_ADD] = { "AddV2", NULL },
	[EXPORT_SUBTRACT] = { "Sub", NULL },
	[EXPORT_MULTIPLY] = { "Mul", NULL },
	[EXPORT_DIVIDE] = { "RealDiv", NULL },
	[EXPORT_MAXIMUM] = { "Maximum", NULL },
	[EXPORT_MINIMUM] = { "Minimum", NULL },
	[EXPORT_SIGN] = { "Sign", NULL },
	[EXPORT_SQRT] = { "Sqrt", NULL },
	[EXPORT_ERF] = { "Erf", NULL },
	[EXPORT_EXPONENTIAL] = { "Exp", NULL },
	[EXPORT_RELU] = { "Relu", NULL },
	[EXPORT_LEAKY_RELU] = { "LeakyRelu", NULL },
	[EXPORT_SIGMOID] = { "Sigmoid", NULL },
	[EXPORT_TANH] = { "Tanh", NULL },
	[EXPORT_SOFTPLUS] = { "Softplus", NULL },
	[EXPORT_SOFTSIGN] = { "Softsign", NULL },
	[EXPORT_SOFTMAX] = { "Softmax", NULL },
	[EXPORT_IDENTITY] = { "Identity", NULL },
	[EXPORT_MATMUL] = { "MatMul", NULL },
	[EXPORT_CONCATENATE] = { "ConcatV2", "Tidx" },
	[EXPORT_RESHAPE] = { "Reshape", "Tshape" },
	[EXPORT_TRANSPOSE] = { "Transpose", "Tperm" },
	[EXPORT_MEAN] = { "Mean", "Tidx" },
	[EXPORT_MAX] = { "Max", "Tidx" },
	[EXPORT_GATHER] = { "GatherV2", "Tindices" },
	[EXPORT_SLICE] = { "StridedSlice", "Index" },
	[EXPORT_SHAPE] = { "Shape", "out_type" },
	[EXPORT_EXPAND] = { "BroadcastTo", "Tidx" },
	[EXPORT_SCATTER_ADD] = { "TensorScatterAdd", "Tindices" },
	[EXPORT_CUMULATIVE_SUM] = { "Cumsum", "Tidx" },
	[EXPORT_PAD] = { "Pad", "Tpaddings" },
	[EXPORT_FLOAT] = { "Cast", NULL },
	[EXPORT_CONVOLUTION] = { "Conv2D", NULL },
	[EXPORT_DEPTHWISE_CONVOLUTION] = { "DepthwiseConv2dNative", NULL },
	[EXPORT_MAX_POOLING] = { "MaxPool", NULL },
	[EXPORT_AVERAGE_POOLING] = { "AvgPool", NULL },
};
_Static_assert(sizeof(types) / sizeof(types[0]) == EXPORT_KINDS, "every operation has its name");

uint64_t saved_type(enum dtype dtype)
{
	return dtype == DTYPE_I64 ? DT_INT64 : dtype == DTYPE_U8 ? DT_UINT8 : DT_FLOAT;
}

/* ---- Attributes ---- */

struct saved_attribute {
	const char *key;
	uint32_t field; /* field number in AttrValue; it decides which member below holds the value */
	uint64_t whole;
	double number;
	const struct export_constant *constant;
	const struct tensor *tensor;
	const char *text;
	const int32_t *pair; /* height and width; fill_list() writes {1, height, width, 1} */
};

static void fill_dimension(struct wire *wire, const void *context)
{
	wire_varint(wire, DIM_SIZE, *(const uint64_t *)context);
}

static void fill_constant_shape(struct wire *wire, const void *context)
{
	const struct export_constant *constant = context;

	for (uint32_t i = 0; i < constant->rank; i++)
		wire_message(wire, SHAPE_DIM, fill_dimension, &constant->shape[i]);
}

static void fill_constant(struct wire *wire, const void *context)
{
	const struct export_constant *constant = context;

	wire_varint(wire, TENSOR_TYPE, saved_type(constant->dtype));
	wire_message(wire, TENSOR_SHAPE, fill_constant_shape, constant);
	wire_bytes(wire, TENSOR_CONTENT, constant->data, export_constant_bytes(constant));
}

void saved_fill_batch_shape(struct wire *wire, const void *context)
{
	static const uint64_t any = UINT64_MAX;
	const struct tensor *tensor = context;

	wire_message(wire, SHAPE_DIM, fill_dimension, &any);
	for (uint32_t i = 0; tensor->rows && i < tensor->rank; i++)
		wire_message(wire, SHAPE_DIM, fill_dimension, &tensor->shape[i]);
}

/* Writes a number for each dimension of an NHWC image: 1, pair[0], pair[1], 1. */
static void fill_list(struct wire *wire, const void *context)
{
	const int32_t *pair = context;

	wire_varint(wire, VALUE_I, 1);
	wire_varint(wire, VALUE_I, (uint64_t)pair[0]);
	wire_varint(wire, VALUE_I, (uint64_t)pair[1]);
	wire_varint(wire, VALUE_I, 1);
}

static void fill_value(struct wire *wire, const void *context)
{
	const struct saved_attribute *attribute = context;

	switch (attribute->field) {
	case VALUE_LIST:
		wire_message(wire, VALUE_LIST, fill_list, attribute->pair);
		break;
	case VALUE_S:
		wire_string(wire, VALUE_S, attribute->text);
		break;
	case VALUE_F:
		wire_float(wire, VALUE_F, (float)attribute->number);
		break;
	case VALUE_TENSOR:
		wire_message(wire, VALUE_TENSOR, fill_constant, attribute->constant);
		break;
	case VALUE_SHAPE:
		wire_message(wire, VALUE_SHAPE, saved_fill_batch_shape, attribute->tensor);
		break;
	default:
		wire_varint(wire, attribute->field, attribute->whole);
		break;
	}
}

static void fill_attribute(struct wire *wire, const void *context)
{
	const struct saved_attribute *attribute = context;

	wire_string(wire, MAP_KEY, attribute->key);
	wire_message(wire, MAP_VALUE, fill_value, attribute);
}

static void add_attribute(struct wire *wire, const struct saved_attribute *attribute)
{
	wire_message(wire, NODE_ATTRIBUTE, fill_attribute, attribute);
}

static void add_type(struct wire *wire, const char *key, uint64_t type)
{
	add_attribute(wire, &(struct saved_attribute){ key, VALUE_TYPE, .whole = type });
}

/* ---- Nodes ---- */

void saved_name(struct wire *wire, uint32_t field, const char *name, const char *suffix)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.";
	char safe[3 * EXPORT_NAME_BYTES + 4];
	size_t used = 0;

	for (const char *c = name; *c && used + 7 < sizeof(safe); c++)
		if (strchr(first, *c) || (used && strchr("_/-", *c)))
			safe[used++] = *c;
		else
			used += (size_t)snprintf(safe + used, sizeof(safe) - used, "x%02X",
						 (unsigned char)*c);
	(void)snprintf(safe + used, sizeof(safe) - used, "%s", suffix);
	wire_string(wire, field, safe);
}

static void fill_constant_node(struct wire *wire, const void *context)
{
	const struct export_constant *constant = context;

	saved_name(wire, NODE_NAME, constant->name, "");
	wire_string(wire, NODE_OP, "Const");
	add_type(wire, "dtype", saved_type(constant->dtype));
	add_attribute(wire, &(struct saved_attribute){ "value", VALUE_TENSOR, .constant = constant });
}

void saved_constant(struct wire *graph, const struct export_constant *constant)
{
	wire_message(graph, GRAPH_NODE, fill_constant_node, constant);
}

/* Whether the operation reads its axes, or the strides of a slice, from a constant that write_axes() writes.
 */
static bool has_axes(const struct export_node *node)
{
	return node->axis_count > 0 || node->kind == EXPORT_GATHER || node->kind == EXPORT_SLICE;
}

static void axes_name(const struct export_node *node, char name[static EXPORT_NAME_BYTES])
{
	(void)snprintf(name, EXPORT_NAME_BYTES, "%s/axes", node->output);
}

static void write_axes(struct wire *graph, const struct export_node *node)
{
	const bool slice = node->kind == EXPORT_SLICE;
	int64_t axes[EXPORT_AXES_MAX] = { 0 };
	const uint64_t sliced = node->rank ? node->rank : 1, count = slice ? sliced : node->axis_count;
	/* TensorFlow reads the axis of a concatenation or a gather as a single number, the axes of a mean, a
	 * max or a transpose as a list. */
	const bool list = slice || node->kind == EXPORT_MEAN || node->kind == EXPORT_MAX ||
			  node->kind == EXPORT_TRANSPOSE;
	char name[EXPORT_NAME_BYTES];

	for (uint32_t i = 0; i < count; i++)
		axes[i] = slice ? 1 : node->axes[i];
	axes_name(node, name);
	saved_constant(
		graph,
		&(struct export_constant){
			.name = name, .dtype = DTYPE_I64, .rank = list, .shape = &count, .data = axes });
}

static void add_window(struct wire *wire, const struct export_node *node)
{
	const bool pools = node->kind == EXPORT_MAX_POOLING || node->kind == EXPORT_AVERAGE_POOLING;

	add_attribute(wire, &(struct saved_attribute){ "strides", VALUE_LIST, .pair = node->window->stride });
	add_attribute(wire, &(struct saved_attribute){ pools ? "ksize" : "dilations", VALUE_LIST,
						       .pair = pools ? node->window->size
								     : node->window->dilation });
	add_attribute(wire,
		      &(struct saved_attribute){ "padding", VALUE_S, .text = node->same ? "SAME" : "VALID" });
}

static void fill_node(struct wire *wire, const void *context)
{
	const struct export_node *node = context;
	const bool batched = node->kind == EXPORT_MATMUL && node->rank > 2;
	char axes[EXPORT_NAME_BYTES];

	saved_name(wire, NODE_NAME, node->output, "");
	wire_string(wire, NODE_OP, batched ? "BatchMatMulV2" : types[node->kind].op);
	for (uint32_t i = 0; i < node->inputs; i++)
		saved_name(wire, NODE_INPUT, node->input[i], "");
	if (has_axes(node)) {
		axes_name(node, axes);
		saved_name(wire, NODE_INPUT, axes, "");
	}
	add_type(wire,
		 node->kind == EXPORT_GATHER  ? "Tparams"
		 : node->kind == EXPORT_FLOAT ? "SrcT"
					      : "T",
		 saved_type(node->dtype));
	if (types[node->kind].index_type)
		add_type(wire, types[node->kind].index_type, DT_INT64);
	if (node->window)
		add_window(wire, node);
	switch (node->kind) {
	case EXPORT_LEAKY_RELU:
		add_attribute(wire, &(struct saved_attribute){ "alpha", VALUE_F, .number = node->alpha });
		break;
	case EXPORT_CONCATENATE:
		add_attribute(wire, &(struct saved_attribute){ "N", VALUE_I, .whole = node->inputs });
		break;
	case EXPORT_MEAN:
	case EXPORT_MAX:
		add_attribute(wire,
			      &(struct saved_attribute){ "keep_dims", VALUE_B, .whole = node->keep_axes });
		break;
	case EXPORT_GATHER:
		add_type(wire, "Taxis", DT_INT64);
		break;
	case EXPORT_FLOAT:
		add_type(wire, "DstT", DT_FLOAT);
		break;
	default:
		break;
	}
}

/* Writes a padding and its second input: the zeros before and after each dimension. */
static void write_padding(struct wire *graph, const struct export_node *node)
{
	const int32_t *sides = node->padding;
	const int64_t padding[] = { 0, 0, sides[0], sides[1], sides[2], sides[3], 0, 0 };
	const uint64_t shape[] = { 4, 2 };
	char name[EXPORT_NAME_BYTES];
	struct export_node padded = *node;

	(void)snprintf(name, sizeof(name), "%s/padding", node->output);
	saved_constant(
		graph,
		&(struct export_constant){
			.name = name, .dtype = DTYPE_I64, .rank = 2, .shape = shape, .data = padding });
	padded.input[padded.inputs++] = name;
	wire_message(graph, GRAPH_NODE, fill_node, &padded);
}

void saved_node(struct wire *graph, const struct export_node *node)
{
	if (has_axes(node))
		write_axes(graph, node);
	if (node->kind == EXPORT_PAD)
		write_padding(graph, node);
	else
		wire_message(graph, GRAPH_NODE, fill_node, node);
}

static void fill_placeholder(struct wire *wire, const void *context)
{
	const struct tensor *tensor = context;

	saved_name(wire, NODE_NAME, tensor->name, "");
	wire_string(wire, NODE_OP, "Placeholder");
	add_type(wire, "dtype", saved_type(tensor->dtype));
	add_attribute(wire, &(struct saved_attribute){ "shape", VALUE_SHAPE, .tensor = tensor });
}

void saved_input(struct wire *graph, const struct tensor *tensor)
{
	wire_message(graph, GRAPH_NODE, fill_placeholder, tensor);
}

static void fill_versions(struct wire *wire, const void *context)
{
	(void)context;
	wire_varint(wire, VERSIONS_PRODUCER, PRODUCER);
}

void saved_output(struct wire *graph, const struct tensor *tensor)
{
	(void)tensor; /* not needed here: the signature says which tensor is the output */
	wire_message(graph, GRAPH_VERSIONS, fill_versions, NULL);
}
