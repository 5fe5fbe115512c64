/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by batch_norm, layer_norm and normalization. They see their input as kernels/norm.cl does: [n,
 * columns], where columns is the last dimension and n all others together.
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

/* Returns scratch of the node: `parts` numbers for each column. */
uint32_t norm_work(struct plan *plan, const struct node *node, const char *name, uint64_t parts);

static inline struct extent norm_per_column(const struct tensor *tensor)
{
	return (struct extent){ .constant = tensor_last(tensor), .tile = ELEMENT_GROUP };
}

/* A sum over rows as a tree: one launch sums chunks of rows, further launches merge the parts until one is
 * left. The shape of the tree, and so the order of the sum, does not depend on the device. */
struct norm_tree {
	const char *chunk, *merge; /* kernels */
	const char *name;          /* name of the tensors of parts */
	uint64_t sums;             /* sums of each part and column */
};

/* Appends the launches of a tree. `launch` has the arguments of the first one up to the chunks. Returns the
 * last part, [sums, columns]. */
uint32_t norm_emit_tree(struct plan *plan, const struct node *node, const struct norm_tree *tree,
			struct launch launch);

/* Computes mean and 1 / deviation of each column from the state of the layer. */
void norm_emit_given(struct plan *plan, const struct node *node, uint32_t saved, uint32_t mean,
		     uint32_t variance, double epsilon, double least);

void norm_emit_normalize(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
			 uint32_t beta);

/* `sums` is GRAPH_NO_TENSOR where the statistics were given, not computed from the batch. */
void norm_emit_columns_backward(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
				uint32_t sums);

void norm_emit_parameter_gradients(struct plan *plan, const struct node *node, uint32_t sums);

/* Writes (x - mean) / spread * gamma + beta; gamma and beta may be missing. */
void norm_export_scaled(struct export *out, const struct node *node, const char *centered,
			const char *spread);

/* Writes sqrt(variance + epsilon). */
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
