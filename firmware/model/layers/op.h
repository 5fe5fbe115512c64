/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of layers. A row says everything about one op: its attributes, its parameters, the shape of its
 * output, the launches of its two passes, its form for other tools, and what it computes, as a reference in
 * float64 with which tests and benches compare the kernels.
 *
 * The rows are in the files of this folder, a file a family of layers; row.h, norm.h and embedding.h have
 * what rows share; table.h finds a row, attributes.h reads a layer's keys by it, emit.h appends a node's
 * launches.
 *
 * Threads: none of its own; rows are constants. A layer keeps no state outside the state arena, so a crash
 * loses nothing here.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;
struct export;

enum attribute_kind {
	ATTRIBUTE_IS_INT,
	ATTRIBUTE_IS_FLOAT,
	ATTRIBUTE_IS_BOOL,
	ATTRIBUTE_IS_NAME,
	ATTRIBUTE_IS_INTS, /* [ 3, 3 ]; where the length is fixed, a single 3 stands for all items */
};

struct attribute_spec {
	const char *key;
	enum attribute_kind kind;
	bool required;
	bool hashed;                /* part of the graph's hash: changes what a checkpoint means */
	bool max_open;              /* `max` itself is not allowed */
	double fallback;            /* value when the key is absent */
	double activation_fallback; /* default for an op that a layer's `activation` names; 0: `fallback` */
	const char *fallback_name;
	double min, max;               /* allowed numbers */
	const char *const *names;      /* allowed names, NULL-terminated */
	uint32_t items_min, items_max; /* number of items allowed in a list */
};

/* Sources of a parameter's dimension. */
enum dimension_kind { DIM_END, DIM_INPUT_LAST, DIM_OUTPUT_LAST, DIM_ATTRIBUTE };
struct dimension {
	enum dimension_kind kind;
	uint8_t attribute, item; /* for DIM_ATTRIBUTE: the attribute, and the item of its list */
};
#define INPUT_LAST                     \
	{                              \
		.kind = DIM_INPUT_LAST \
	}
#define OUTPUT_LAST                     \
	{                               \
		.kind = DIM_OUTPUT_LAST \
	}
#define ATTRIBUTE_ITEM(a, i)                                       \
	{                                                          \
		.kind = DIM_ATTRIBUTE, .attribute = (a), .item = i \
	}

struct parameter_spec {
	const char *name;
	int initializer;     /* index of the attribute that names the initializer */
	const char *initial; /* fixed initializer, whatever attributes say; NULL: the attribute's */
	int only_if;         /* index of the BOOL attribute that switches the parameter on, or -1 */
	bool state;          /* not learnt: written by the layer's forward pass of training, or loaded */
	struct dimension shape[CONFIG_SHAPE_MAX];
};

/* The rows of parameter 0 that a batch names: ids in ascending order, each as often as the batch names it. */
struct touched {
	uint32_t key, count; /* tensors: the ids, with invalid ones at the end, and the number of valid ones;
				of the whole batch */
	uint64_t per_row;    /* upper bound of the ids of a row of the batch */
	uint32_t group, run; /* work-items of a group, ids of an item */
	uint64_t ids, columns; /* dimensions of the parameter */
};

/* A call of a float64 reference. It fills y; then, where dy is given, dx (NULL: not wanted) and dparameter
 * (NULL: frozen, or state). While training, the call without dy may write the layer's state. Shapes are those
 * of the graph's tensors without the rows. */
struct op_reference {
	const struct graph *graph;
	const struct node *node;
	uint64_t rows, inputs, outputs; /* elements of a row of input 0 and of the output */
	const double *x[CONFIG_INPUTS_MAX];
	const double *splits; /* row splits of ragged values: [rows + 1] */
	double *parameter[GRAPH_PARAMETERS_MAX];
	double *y;
	const double *dy;
	double *dx[CONFIG_INPUTS_MAX], *dparameter[GRAPH_PARAMETERS_MAX];
	const uint8_t *empty; /* NULL: no row is empty */
	bool training;
	uint64_t seed, step, first_row; /* counters of dropout's random numbers */
};

struct op {
	const char *name;
	uint32_t inputs, inputs_max; /* how many inputs it takes; inputs_max 0: exactly `inputs` */
	enum dtype reads;            /* type of every input */
	bool ragged;                 /* takes values with row splits, and nothing else */
	bool function;               /* another layer's `activation` may name it */
	bool activates; /* takes the key `activation`, as Keras's layers do: a node of that op follows it */
	/* Parameters 0 and 1 are mean and variance of the input, which adapt.h finds in the data. Attributes
	 * 0 and 1 may give them; a variance of 0 gives none. */
	bool adapts;
	bool view; /* the output is the bytes of the input: no launches, one gradient for both */
	uint32_t attributes;
	const struct attribute_spec *attribute;
	uint32_t parameters;
	const struct parameter_spec *parameter;
	/* Fills rank and shape of the output from the inputs'. Errors: -EINVAL, the text names found and
	 * wanted. */
	int (*shape)(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err);
	/* Append launches; NULL for a view. `training`: forward() also does what only the training step
	 * needs. backward() is called only where the output has a gradient. */
	void (*forward)(struct plan *plan, const struct node *node, bool training);
	void (*backward)(struct plan *plan, const struct node *node);
	/* Called after backward(). NULL: a batch touches every row of every parameter. */
	struct touched (*touched)(struct plan *plan, const struct node *node);
	void (*reference)(const struct op_reference *reference);
	/* Writes the layer for other tools, as it predicts: model/export/export_ops.h. Every row has it. */
	void (*export)(struct export *out, const struct node *node);
};
