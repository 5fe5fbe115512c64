/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by batch_norm, layer_norm and normalization. They regard their input as [n, columns], like
 * kernels/norm.cl: columns is the last dimension, n the product of the other dimensions and the rows.
 */
#pragma once

#include "model/layers/row.h"

enum { NORM_GAMMA, NORM_BETA, NORM_MEAN, NORM_VARIANCE }; /* indices of parameters */

#define NORM_INITIALIZER(key_of, usual)                                                              \
	{                                                                                            \
		.key = key_of "_initializer", .kind = ATTRIBUTE_IS_NAME, .names = initializer_names, \
		.fallback_name = usual                                                               \
	}

int norm_shape(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err);

/* Returns a scratch tensor of the node, with `partials` numbers for each column. */
uint32_t norm_work(struct plan *plan, const struct node *node, const char *name, uint64_t partials);

static inline struct extent norm_per_column(const struct tensor *tensor)
{
	return (struct extent){ .fixed = tensor_last(tensor), .tile = ELEMENT_GROUP };
}

/* A sum over rows as a tree: one launch sums chunks of rows into partial sums, further launches merge these
 * until one is left. The shape of the tree, and so the order of the sum, does not depend on the device. */
struct norm_tree {
	const char *chunk, *merge; /* names of the kernels that sum a chunk and that merge partial sums */
	const char *lines;         /* instead of `chunk` on CPU devices; NULL: `chunk` */
	const char *name;          /* name of the tensors of partial sums */
	uint64_t sums;             /* how many sums a chunk has for each column */
};

/* Appends the launches of a tree. `launch` holds the first arguments of the first launch; this function sets
 * its kernel, groups and other arguments. Returns the tensor of the last merge, [sums, columns]. */
uint32_t norm_emit_tree(struct plan *plan, const struct node *node, const struct norm_tree *tree,
			struct launch launch);

/* Appends the launch that computes `saved`, mean and 1 / deviation of each column, from the given tensors of
 * statistics. */
void norm_emit_given(struct plan *plan, const struct node *node, uint32_t saved, uint32_t mean,
		     uint32_t variance, double epsilon, double least);

void norm_emit_normalize(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
			 uint32_t beta);

/* `sums` is GRAPH_NO_TENSOR where the statistics were given, not computed from the batch. */
void norm_emit_columns_backward(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
				uint32_t sums);

void norm_emit_parameter_gradients(struct plan *plan, const struct node *node, uint32_t sums);

/* Exports centered / spread * gamma + beta as the output of the node, without gamma or beta if the layer has
 * none. `centered` is x - mean. */
void norm_export_scaled(struct export *out, const struct node *node, const char *centered,
			const char *spread);

/* Exports sqrt(variance + epsilon) and returns its name. */
struct export_inner_name norm_export_spread(struct export *out, const struct node *node, const char *variance,
					    double epsilon);

/* ---- References ---- */

struct norm_view {
	uint64_t n, outer, columns;
	double mean, scale; /* statistics of one column or row */
};

struct norm_view norm_view_of(const struct op_reference *r);

static inline double norm_or_else(const double *numbers, uint64_t i, double usual)
{
	return numbers ? numbers[i] : usual;
}
