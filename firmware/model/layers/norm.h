/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What batch_norm, layer_norm and normalization share. They see what they take as kernels/norm.cl does: [n,
 * columns], the last dimension and all others.
 */
#pragma once

#include "model/layers/row.h"

enum { NORM_GAMMA, NORM_BETA, NORM_MEAN, NORM_VARIANCE }; /* parameters */

#define NORM_INITIALIZER(key_of, usual)                                                              \
	{                                                                                            \
		.key = key_of "_initializer", .kind = ATTRIBUTE_IS_NAME, .names = initializer_names, \
		.fallback_name = usual                                                               \
	}

int norm_shape(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err);

/* A tensor of the node's own, [columns] each. */
uint32_t norm_work(struct plan *plan, const struct node *node, const char *name, uint64_t parts);

static inline struct extent norm_per_column(const struct tensor *tensor)
{
	return (struct extent){ .constant = tensor_last(tensor), .tile = ELEMENT_GROUP };
}

/* Sums over rows as a tree, whose shape does not depend on the device: a launch makes chunks, others merge
 * until one is left. */
struct norm_tree {
	const char *chunk, *merge; /* kernels */
	const char *name;          /* of the tensors of parts */
	uint64_t sums;             /* of a part and column */
};

/* `launch` has its own arguments up to where the chunks go; returns the last parts, [sums, columns]. */
uint32_t norm_emit_tree(struct plan *plan, const struct node *node, const struct norm_tree *tree,
			struct launch launch);

/* Mean and 1 / deviation of each column, from what the layer keeps. */
void norm_emit_given(struct plan *plan, const struct node *node, uint32_t saved, uint32_t mean,
		     uint32_t variance, double epsilon, double least);

void norm_emit_normalize(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
			 uint32_t beta);

/* `sums` GRAPH_NO_TENSOR: the statistics were given. */
void norm_emit_columns_backward(struct plan *plan, const struct node *node, uint32_t saved, uint32_t gamma,
				uint32_t sums);

void norm_emit_parameter_gradients(struct plan *plan, const struct node *node, uint32_t sums);

/* (x - mean) / spread * gamma + beta; gamma and beta may be missing. */
void norm_export_scaled(struct export *out, const struct node *node, const char *centered,
			const char *spread);

/* sqrt(variance + epsilon) */
struct export_inner_name norm_export_spread(struct export *out, const struct node *node, const char *variance,
					    double epsilon);

/* ---- References ---- */

struct norm_view {
	uint64_t n, outer, columns;
	double mean, scale; /* of one column or row */
};

struct norm_view norm_view_of(const struct op_reference *r);

static inline double norm_or_else(const double *numbers, uint64_t i, double usual)
{
	return numbers ? numbers[i] : usual;
}
