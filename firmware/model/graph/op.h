/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An op: what a kind of layer is. A row of the table of layers (layers/table.h) says everything about one op:
 * its attributes, its parameters, the shape of its output, the launches of its forward and backward pass, its
 * export for other tools, and a reference in float64 of what it computes, with which tests and benches
 * compare the kernels.
 *
 * Why here and not in layers/: code below the layers, such as the export, calls the functions of a row
 * without knowing any layer.
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
	ATTRIBUTE_IS_INTS,   /* a list, [ 3, 3 ]; if its length is fixed, a single 3 means [ 3, 3 ] */
	ATTRIBUTE_IS_FLOATS, /* a list, [ -0.2, 0.3 ]; a single number is a list of one */
};

struct attribute_spec {
	const char *key;
	enum attribute_kind kind;
	bool required;
	bool hashed; /* part of the graph's hash, because it changes the meaning of a checkpoint */
	/* With `hashed`: part of the hash only if the value is not the default. For an attribute that is
	 * added to an op later: models from before keep their hash. */
	bool hashed_if_given;
	bool max_open;              /* true: the value must be less than `max`, not equal */
	double fallback;            /* value when the key is absent */
	double activation_fallback; /* default for an op that is the `activation` of a layer; 0: `fallback` */
	const char *fallback_name;
	const double *fallback_list; /* ATTRIBUTE_IS_FLOATS: items_max numbers; NULL: a list without items */
	double min, max;             /* allowed numbers */
	const char *const *names;    /* allowed names, NULL-terminated */
	uint32_t items_min, items_max; /* number of items allowed in a list */
	bool one_for_all; /* a single integer is allowed as a list of one, also where the list has no fixed
			     length */
};

/* Where the size of a dimension of a parameter comes from. DIM_END ends the list of dimensions. */
enum dimension_kind { DIM_END, DIM_INPUT_LAST, DIM_OUTPUT_LAST, DIM_ATTRIBUTE, DIM_ATTRIBUTE_OR, DIM_NUMBER };
struct dimension {
	enum dimension_kind kind;
	uint8_t attribute,
		item;      /* DIM_ATTRIBUTE: index of the attribute, and of the item in its list;
			      DIM_INPUT_LAST: index of the input, or the last input if there are fewer */
	uint8_t otherwise; /* DIM_ATTRIBUTE_OR: index of the attribute that counts where the first is 0 */
	uint8_t times;     /* DIM_ATTRIBUTE: a factor of the size, 0 counts as 1; DIM_NUMBER: the size */
};
#define INPUT_LAST                     \
	{                              \
		.kind = DIM_INPUT_LAST \
	}
#define INPUT_ITEM(i)                             \
	{                                         \
		.kind = DIM_INPUT_LAST, .item = i \
	}
#define OUTPUT_LAST                     \
	{                               \
		.kind = DIM_OUTPUT_LAST \
	}
#define ATTRIBUTE_ITEM(a, i)                                       \
	{                                                          \
		.kind = DIM_ATTRIBUTE, .attribute = (a), .item = i \
	}
#define ATTRIBUTE_OR(a, other)                                                 \
	{                                                                      \
		.kind = DIM_ATTRIBUTE_OR, .attribute = (a), .otherwise = other \
	}
#define ATTRIBUTE_TIMES(a, n)                                       \
	{                                                           \
		.kind = DIM_ATTRIBUTE, .attribute = (a), .times = n \
	}
#define JUST(n)                                \
	{                                      \
		.kind = DIM_NUMBER, .times = n \
	}

struct parameter_spec {
	const char *name;
	int initializer;     /* index of the attribute with the name of the initializer */
	const char *initial; /* fixed initializer; NULL: the initializer in the attribute */
	int only_if;         /* index of the BOOL attribute that switches the parameter on, or -1 */
	bool state;          /* not learnt, but written by the forward pass in training, or loaded */
	struct dimension shape[CONFIG_SHAPE_MAX];
};

/* How a layer treats the masks of its inputs (struct tensor), as Keras's layer of the same name does. */
enum masking {
	MASKING_REFUSED, /* an input with a mask is a mistake */
	MASKING_ENDS,    /* the layer reads all steps, and its output has no mask */
	MASKING_PASSES,  /* the output has the mask that all inputs have; none where an input has none */
	MASKING_OWN,     /* shape() sets the output's mask */
};

/* The rows of parameter 0 that a batch uses, as a list of their ids in ascending order. An id is in the list
 * as often as it is in the batch. */
struct touched {
	uint32_t key, count;    /* two tensors for the whole batch: the ids, with invalid ids at the end; how
				   many ids there are */
	uint64_t per_row, tile; /* a launch for all ids has ceil(rows of the batch * per_row / tile) groups */
	uint64_t ids, columns;  /* the two dimensions of the parameter */
};

/* A call of a float64 reference. The reference fills y. If dy is given, it also fills dx (NULL: not wanted)
 * and dparameter (NULL: frozen, or state). While training, the call without dy may write the layer's state.
 * The graph's tensors have the shapes of a row; the number of rows is `rows`. */
struct op_reference {
	const struct graph *graph;
	const struct node *node;
	uint64_t rows, inputs, outputs; /* rows of the batch; elements of a row of input 0; of the output */
	const double *x[CONFIG_INPUTS_MAX];
	const double *splits;                  /* row splits of ragged values: [rows + 1] */
	const double *mask[CONFIG_INPUTS_MAX]; /* the ids of an input's mask: [rows, steps]; NULL: none */
	double *parameter[GRAPH_PARAMETERS_MAX];
	double *y;
	const double *dy;
	double *dx[CONFIG_INPUTS_MAX], *dparameter[GRAPH_PARAMETERS_MAX];
	const uint8_t *empty; /* NULL: no row is empty */
	bool training;
	uint64_t seed, step, first_row; /* values that choose the random numbers: random.h */
};

struct op {
	const char *name;
	uint32_t inputs, inputs_max; /* fewest and most inputs of a layer; inputs_max 0: exactly `inputs` */
	enum dtype reads; /* type of every input; F32 also takes a feature of U8 (plan/storage.h) */
	bool ragged;      /* the input must be ragged: values with row splits */
	enum masking masking;
	bool function;  /* may be the `activation` of another layer */
	bool activates; /* has the key `activation`, as in Keras: a node of the op in that key then follows */
	/* Parameters 0 and 1 are mean and variance of the input, which adapt.h computes from the data, unless
	 * attributes 0 and 1 give them. A variance of 0 in the attribute means that they are not given. */
	bool adapts;
	/* The layer changes its input only while training; otherwise the output is the input. So adapt.h
	 * looks through the layer at the data. */
	bool training_only;
	bool casts; /* the output has the numbers of the input in another type; adapt.h looks through the
		       layer */
	bool view;  /* the output has the bytes of the input: no launches, and both have the same gradient */
	uint32_t attributes;
	const struct attribute_spec *attribute;
	uint32_t parameters;
	const struct parameter_spec *parameter;
	/* Returns the initializer of parameter i of a node, where other attributes than that of the
	 * initializer choose it; NULL: they do not. May be NULL. */
	const char *(*initial)(const struct node *node, uint32_t i);
	/* Sets rank and shape of the output from those of the inputs, and with MASKING_OWN its mask. Errors:
	 * -EINVAL an input has a wrong shape, or mask; the text names what was found and is allowed. */
	int (*shape)(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err);
	/* Append the launches of the two passes; NULL for a view. With `training`, forward() also does what
	 * only the training step needs. backward() is called only if the output has a gradient; it is NULL
	 * for a layer whose shape() refuses an input with a gradient. The layers that augment pictures are
	 * such layers: they stand before everything that learns. */
	void (*forward)(struct plan *plan, const struct node *node, bool training);
	void (*backward)(struct plan *plan, const struct node *node);
	/* With several micro-batches in a step: appends the launches that change the state of the layer,
	 * after the sums over all of them. NULL: training does not change the state. */
	void (*apply)(struct plan *plan, const struct node *node);
	/* Called after backward(). NULL: a batch touches every row of every parameter. */
	struct touched (*touched)(struct plan *plan, const struct node *node);
	void (*reference)(const struct op_reference *reference);
	/* Exports the layer for other tools, as it works in prediction: model/export/export_ops.h. Never
	 * NULL. */
	void (*export)(struct export *out, const struct node *node);
};
