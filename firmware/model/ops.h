/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of layers. One row says everything about an op: its attributes, its parameters, the shape it
 * makes, which launches its two passes are, and what it computes, in float64, for tests and benches to
 * compare with.
 */
#pragma once

#include "model/graph.h"

struct plan;

enum attribute_kind { ATTRIBUTE_IS_INT, ATTRIBUTE_IS_FLOAT, ATTRIBUTE_IS_BOOL, ATTRIBUTE_IS_NAME };

struct attribute_spec {
	const char *key;
	enum attribute_kind kind;
	bool required;
	bool hashed;     /* changes what a checkpoint means */
	bool max_open;   /* `max` itself is not allowed */
	double fallback; /* when absent */
	const char *fallback_name;
	double min, max;          /* allowed numbers */
	const char *const *names; /* allowed names, NULL-terminated */
};

/* What a parameter's dimension is. */
enum dimension { DIM_END, DIM_INPUT, DIM_UNITS };

struct parameter_spec {
	const char *name;
	int initializer; /* index of the attribute that names its initializer */
	int only_if;     /* index of the BOOL attribute that switches it on, or -1 */
	enum dimension shape[CONFIG_SHAPE_MAX];
};

/* One call of a float64 reference: forward fills y; then, with dy, backward fills dx (may be NULL) and
 * dparameter. */
struct op_reference {
	const struct node *node;
	uint64_t rows, inputs, outputs; /* elements of a row */
	const double *x, *parameter[GRAPH_PARAMETERS_MAX];
	double *y;
	const double *dy;
	double *dx, *dparameter[GRAPH_PARAMETERS_MAX];
	bool training;
	uint64_t seed, step, first_row; /* what dropout counts by */
};

struct op {
	const char *name;
	uint32_t inputs; /* how many it takes */
	uint32_t attributes;
	const struct attribute_spec *attribute;
	uint32_t parameters;
	const struct parameter_spec *parameter;
	/* Fill rank and shape of the output from the inputs'. -EINVAL: the text names found and wanted. */
	int (*shape)(const struct graph *graph, const struct node *node, struct tensor *output,
		     struct error *err);
	/* Append launches. `training`: as the training step needs it. */
	void (*forward)(struct plan *plan, const struct node *node, bool training);
	void (*backward)(struct plan *plan, const struct node *node);
	void (*reference)(const struct op_reference *reference);
};

/* NULL: no such op. */
const struct op *op_find(const char *name);
/* "dense, dropout, ..." for messages. */
const char *op_names(void);
