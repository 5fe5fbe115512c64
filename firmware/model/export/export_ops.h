/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations in which a layer describes itself for export. Every form can write all of them. Each value
 * has a name: that of a tensor of the graph, or "<layer>/<name>" from export_inner() for a value inside a
 * layer. An operation comes after the operations whose values it reads.
 */
#pragma once

#include "model/export/export.h"
#include "model/plan/window.h"

#define EXPORT_NAME_BYTES (GRAPH_NAME_BYTES + 32u)
#define EXPORT_AXES_MAX   (CONFIG_SHAPE_MAX + 1u)

enum export_kind {
	EXPORT_ADD, /* ADD to DIVIDE: two inputs, whose shapes broadcast */
	EXPORT_SUBTRACT,
	EXPORT_MULTIPLY,
	EXPORT_DIVIDE,
	EXPORT_MAXIMUM, /* the larger of two inputs, whose shapes broadcast */
	EXPORT_MINIMUM, /* the smaller of two inputs, whose shapes broadcast */
	EXPORT_SIGN,    /* -1, 0 or 1 */
	EXPORT_SQRT,
	EXPORT_ERF,
	EXPORT_EXPONENTIAL,
	EXPORT_RELU,
	EXPORT_LEAKY_RELU, /* slope for negative numbers: alpha */
	EXPORT_SIGMOID,
	EXPORT_TANH,
	EXPORT_SOFTPLUS,
	EXPORT_SOFTSIGN,
	EXPORT_SOFTMAX, /* softmax over the last dimension */
	EXPORT_IDENTITY,
	EXPORT_MATMUL,      /* multiplies the last two dimensions; `rank` is that of the first input, with the
			       dimension of the rows */
	EXPORT_CONCATENATE, /* joins the inputs along axes[0]; axis 0 is the dimension of the rows */
	EXPORT_RESHAPE, /* second input: the new shape, an int64 constant; -1: the size that follows from the
			   others */
	EXPORT_TRANSPOSE,   /* dimension i of the output is dimension axes[i] of the input; axis 0 is the rows
			     */
	EXPORT_MEAN,        /* mean over `axes`; with `keep_axes` the output has these axes with size 1 */
	EXPORT_MAX,         /* largest number over `axes`; keep_axes as for EXPORT_MEAN */
	EXPORT_GATHER,      /* picks rows of the first input; the second input holds their indices, int64 */
	EXPORT_SLICE,       /* cuts the first `rank` dimensions, 0 counts as 1; the second and third input are
			       their begins and ends, int64 [rank]; a negative number counts from the end, an end
			       behind the last counts as the last */
	EXPORT_SHAPE,       /* the shape of the input, as int64 */
	EXPORT_EXPAND,      /* repeats the input until it has the shape in the second input, int64 */
	EXPORT_SCATTER_ADD, /* adds row i of the third input to row second[i] of the first; the second input
			       is int64 [n, 1] */
	EXPORT_CUMULATIVE_SUM, /* sums along the axis that the second input holds, int64 */
	EXPORT_PAD,            /* adds zeros around NHWC images: `padding` */
	EXPORT_FLOAT,          /* converts int64 or uint8 to float32 */
	/* These operations move `window` over NHWC images. Kernels are HWIO; a depthwise kernel is [height,
	 * width, channels, multiplier]. */
	EXPORT_CONVOLUTION,
	EXPORT_DEPTHWISE_CONVOLUTION,
	EXPORT_MAX_POOLING,
	EXPORT_AVERAGE_POOLING, /* padding does not count in the mean */
	EXPORT_KINDS,
};

struct export_node {
	enum export_kind kind;
	const char *output;
	const char *input[CONFIG_INPUTS_MAX];
	uint32_t inputs;  /* how many names `input` has; 0: export_node() counts them */
	enum dtype dtype; /* type of the first input: F32, I64, or U8 for EXPORT_FLOAT */
	double alpha;
	uint32_t rank;
	int32_t padding[4]; /* lines and columns at the top, bottom, left and right, for EXPORT_PAD */
	int32_t axes[EXPORT_AXES_MAX];
	uint32_t axis_count;
	bool keep_axes;
	const struct window *window;
	bool same;                  /* true: padding "same"; false: padding "valid" */
	uint64_t channels, filters; /* convolutions only */
};

struct export_constant {
	const char *name;
	enum dtype dtype; /* F32 or I64 */
	uint32_t rank;
	const uint64_t *shape;
	const void *data;
};

struct export_inner_name {
	char text[EXPORT_NAME_BYTES];
};

struct export;

/* Writes an operation. */
void export_node(struct export *out, const struct export_node *node);
/* Writes a constant. */
void export_constant(struct export *out, const struct export_constant *constant);
/* Writes one float32 as a constant without dimensions. */
void export_float(struct export *out, const char *name, double value);
/* Writes one int64 as a constant of shape [1] if `list`, else without dimensions. */
void export_int64(struct export *out, const char *name, int64_t value, bool list);

/* Return the names of a node's i-th input, of its output, and of its i-th parameter. NULL: the node has no
 * such parameter. A feature of uint8 is named as it is after its conversion to float32. */
const char *export_input(const struct export *out, const struct node *node, uint32_t i);
const char *export_output(const struct export *out, const struct node *node);
const char *export_parameter(const struct export *out, const struct node *node, uint32_t i);
const struct graph *export_graph(const struct export *out);
const struct tensor *export_tensor(const struct export *out, uint32_t tensor);
/* Writes the mask of input i, which has one, as float32 [rows, steps]: 1 where the step counts, else 0. */
struct export_inner_name export_mask(struct export *out, const struct node *node, uint32_t i,
				     const char *name);
/* Returns the name "<layer>/<name>" for a value inside a layer. */
struct export_inner_name export_inner(const struct node *node, const char *name);

/* Writes an operation of one value: output of the node = kind(first input of the node). */
void export_unary(struct export *out, const struct node *node, enum export_kind kind);
/* Writes an operation of two values: output = kind(a, b). */
void export_binary(struct export *out, enum export_kind kind, const char *a, const char *b,
		   const char *output);
/* Writes output = `a` in the shape of `tensor`, of which only rank and shape count; the rows of the batch
 * stay. */
void export_reshape(struct export *out, const char *a, const struct tensor *tensor, const char *output);
/* Writes `a` in the shape of `tensor` as a value inside the layer, and returns the full name of that value.
 */
struct export_inner_name export_reshaped(struct export *out, const struct node *node, const char *a,
					 const struct tensor *tensor, const char *name);
/* Writes x0 kind x1 of the inputs of the node, then the result kind each further input; the results in
 * between are the values "<name>_1", "<name>_2" ... inside the layer, the last one is `output`. */
void export_fold(struct export *out, const struct node *node, enum export_kind kind, const char *name,
		 const char *output);
/* Write the operation kind(a), kind(a, b) or kind(a, number), whose result is a value inside the layer, and
 * return the full name of that value. */
struct export_inner_name export_of(struct export *out, const struct node *node, enum export_kind kind,
				   const char *a, const char *name);
struct export_inner_name export_both(struct export *out, const struct node *node, enum export_kind kind,
				     const char *a, const char *b, const char *name);
struct export_inner_name export_with(struct export *out, const struct node *node, enum export_kind kind,
				     const char *a, double number, const char *name);
