/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What layers are made of when they leave for other tools: a few operations that every form knows. A value
 * has a name: a graph tensor's, or one that the layer gives it by export_part(). Values come before their
 * readers.
 */
#pragma once

#include "model/export/export.h"
#include "model/formats/wire.h"
#include "model/plan/window.h"

#define EXPORT_NAME_BYTES (GRAPH_NAME_BYTES + 32u)
#define EXPORT_AXES_MAX   2u

enum export_kind {
	EXPORT_ADD, /* of two, shapes broadcast */
	EXPORT_SUBTRACT,
	EXPORT_MULTIPLY,
	EXPORT_DIVIDE,
	EXPORT_SQRT,
	EXPORT_ERF,
	EXPORT_RELU,
	EXPORT_LEAKY_RELU, /* alpha */
	EXPORT_SIGMOID,
	EXPORT_TANH,
	EXPORT_SOFTMAX, /* over the last dimension */
	EXPORT_IDENTITY,
	EXPORT_MATMUL,      /* of the last two dimensions; rank: the first input's, rows included */
	EXPORT_CONCATENATE, /* axes[0], rows being 0 */
	EXPORT_RESHAPE,     /* second input: an int64 constant, -1 for what is left */
	EXPORT_MEAN,        /* over axes, which stay with size 1 if `keep` */
	EXPORT_MAX,
	EXPORT_GATHER, /* rows of the first input by the second's int64 */
	EXPORT_SLICE,  /* of the first dimension, by int64 [1] each: begin, end; one below 0 counts from the
			  end */
	EXPORT_SHAPE,  /* int64 */
	EXPORT_EXPAND, /* to the shape that the second input holds, int64 */
	EXPORT_SCATTER_ADD, /* to rows of the first input, by the second's int64 [n, 1], the third's rows */
	EXPORT_CUMULATIVE_SUM, /* along the axis that the second input is, an int64 */
	EXPORT_FLOAT,          /* int64 to float32 */
	/* Over images NHWC by `window`; kernels HWIO, of a depthwise one [height, width, channels,
	   multiplier]. */
	EXPORT_CONVOLUTION,
	EXPORT_DEPTHWISE_CONVOLUTION,
	EXPORT_MAX_POOLING,
	EXPORT_AVERAGE_POOLING, /* padding does not count */
	EXPORT_KINDS,
};

struct export_node {
	enum export_kind kind;
	const char *output;
	const char *input[CONFIG_INPUTS_MAX];
	uint32_t inputs;  /* 0: as many as there are names */
	enum dtype dtype; /* of the first input: F32 or I64 */
	double alpha;
	uint32_t rank;
	int32_t axes[EXPORT_AXES_MAX];
	uint32_t axis_count;
	bool keep;
	const struct window *window;
	bool same;                  /* padding, else valid */
	uint64_t channels, filters; /* of a convolution */
};

struct export_constant {
	const char *name;
	enum dtype dtype; /* F32 or I64 */
	uint32_t rank;
	const uint64_t *shape;
	const void *data;
};

struct export_part_name {
	char text[EXPORT_NAME_BYTES];
};

struct export;

void export_node(struct export *out, const struct export_node *node);
void export_constant(struct export *out, const struct export_constant *constant);
/* One number, as a constant; int64 [1], or one without dimensions. */
void export_number(struct export *out, const char *name, double value);
void export_whole(struct export *out, const char *name, int64_t value, bool list);

/* The name of a node's input, output, parameter; "<layer>/<part>" for what is in between. */
const char *export_input(const struct export *out, const struct node *node, uint32_t i);
const char *export_output(const struct export *out, const struct node *node);
const char *export_parameter(const struct export *out, const struct node *node, uint32_t i);
const struct graph *export_graph(const struct export *out);
const struct tensor *export_tensor(const struct export *out, uint32_t tensor);
struct export_part_name export_part(const struct node *node, const char *part);

/* From one input to the output. */
void export_unary(struct export *out, const struct node *node, enum export_kind kind);
/* kind(a, b) -> output. */
void export_binary(struct export *out, enum export_kind kind, const char *a, const char *b,
		   const char *output);
/* kind(a), kind(a, b), kind(a, number) -> "<layer>/<part>", whose name they return. */
struct export_part_name export_of(struct export *out, const struct node *node, enum export_kind kind,
				  const char *a, const char *part);
struct export_part_name export_both(struct export *out, const struct node *node, enum export_kind kind,
				    const char *a, const char *b, const char *part);
struct export_part_name export_with(struct export *out, const struct node *node, enum export_kind kind,
				    const char *a, double number, const char *part);

/* ---- For the forms ---- */

struct export_writer {
	void (*node)(struct wire *graph, const struct export_node *node);
	void (*constant)(struct wire *graph, const struct export_constant *constant);
	/* An input of the batch: [rows, shape...]. */
	void (*input)(struct wire *graph, const struct tensor *tensor);
	/* The model's output, behind all nodes, and what else ends a graph. */
	void (*output)(struct wire *graph, const struct tensor *tensor);
	/* The whole file, whose graph `fill` writes. */
	void (*file)(struct wire *file, const struct graph *graph,
		     void (*fill)(struct wire *graph, const void *context), const void *context);
};

extern const struct export_writer export_onnx, export_saved_model;
