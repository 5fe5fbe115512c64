/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of layers. One row says everything about an op: its attributes, its parameters, the shape it
 * makes, which launches its two passes are, and what it computes, in float64, for tests and benches to
 * compare with. The rows are in ops/, a file a family of layers.
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
	ATTRIBUTE_IS_INTS, /* [ 3, 3 ]; where the number of items is fixed, 3 alone stands for all of them */
};

struct attribute_spec {
	const char *key;
	enum attribute_kind kind;
	bool required;
	bool hashed;                /* changes what a checkpoint means */
	bool max_open;              /* `max` itself is not allowed */
	double fallback;            /* when absent */
	double activation_fallback; /* ... of an op that a layer's `activation` names; 0: the same */
	const char *fallback_name;
	double min, max;               /* allowed numbers */
	const char *const *names;      /* allowed names, NULL-terminated */
	uint32_t items_min, items_max; /* of INTS */
};

/* What a parameter's dimension is. */
enum dimension_kind { DIM_END, DIM_INPUT_LAST, DIM_OUTPUT_LAST, DIM_ATTRIBUTE };
struct dimension {
	enum dimension_kind kind;
	uint8_t attribute, item; /* ATTRIBUTE: the integer, or one of the list */
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
	int initializer;     /* index of the attribute that names its initializer */
	const char *initial; /* not NULL: this initializer, whatever attributes say */
	int only_if;         /* index of the BOOL attribute that switches it on, or -1 */
	bool state;          /* not learnt: written by the layer's forward pass of training, or loaded */
	struct dimension shape[CONFIG_SHAPE_MAX];
};

/* Which rows of parameter 0 a batch names: ids in ascending order, each as often as it is named. */
struct touched {
	uint32_t key,
		count;    /* tensors: the ids, those that are none at the end, and how many; all of a batch */
	uint64_t per_row; /* ids of a row of the batch, at most */
	uint32_t group, run;   /* work-items of a group, ids that each takes */
	uint64_t ids, columns; /* of the parameter */
};

/* One call of a float64 reference: forward fills y; then, with dy, backward fills dx (NULL: not wanted) and
 * dparameter (NULL: frozen or state). While training, the call without dy may write the layer's state. Shapes
 * are those of the graph's tensors, less the rows. */
struct op_reference {
	const struct graph *graph;
	const struct node *node;
	uint64_t rows, inputs, outputs; /* elements of a row; inputs: of input 0 */
	const double *x[CONFIG_INPUTS_MAX];
	const double *splits; /* of ragged values: [rows + 1] */
	double *parameter[GRAPH_PARAMETERS_MAX];
	double *y;
	const double *dy;
	double *dx[CONFIG_INPUTS_MAX], *dparameter[GRAPH_PARAMETERS_MAX];
	const uint8_t *empty; /* NULL: every row counts */
	bool training;
	uint64_t seed, step, first_row; /* what dropout counts by */
};

struct op {
	const char *name;
	uint32_t inputs, inputs_max; /* how many it takes; inputs_max 0: exactly so many */
	enum dtype reads;            /* of every input */
	bool ragged;                 /* it takes values with row splits, and nothing else */
	bool function;               /* it may be named by another layer's `activation` */
	bool activates; /* it takes `activation`, as Keras's layers do: a layer of that op behind it */
	/* Its first two parameters are mean and variance of its input: model/adapt.h; its first two
	 * attributes give them, a variance of 0 none. */
	bool adapts;
	bool view; /* the output is the input's bytes: no launches, one gradient for both */
	uint32_t attributes;
	const struct attribute_spec *attribute;
	uint32_t parameters;
	const struct parameter_spec *parameter;
	/* Fill rank and shape of the output from the inputs'. -EINVAL: the text names found and wanted. */
	int (*shape)(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err);
	/* Append launches; NULL of a view. `training`: as the training step needs it. backward() is called
	 * only where the output has a gradient. */
	void (*forward)(struct plan *plan, const struct node *node, bool training);
	void (*backward)(struct plan *plan, const struct node *node);
	/* Behind backward(). NULL: a batch touches all of every parameter. */
	struct touched (*touched)(struct plan *plan, const struct node *node);
	void (*reference)(const struct op_reference *reference);
	/* What the layer is for other tools, when it predicts: see model/export/export_ops.h. Every row has
	 * it. */
	void (*export)(struct export *out, const struct node *node);
};
