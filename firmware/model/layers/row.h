/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the rows of the table of layers. Each file of this folder defines rows `const struct op op_NAME`;
 * table.c lists them. */
#pragma once

#include "model/export/export_ops.h"
#include "model/graph/op.h"
#include "model/plan/rows.h"

#define COUNT(table) (uint32_t)(sizeof(table) / sizeof(*(table)))

static inline const struct tensor *input_of(const struct plan *plan, const struct node *node, uint32_t i)
{
	return graph_at(plan->graph, node->input[i]);
}

static inline const struct tensor *output_of(const struct plan *plan, const struct node *node)
{
	return graph_at(plan->graph, node->output);
}

/* Returns the gradient tensor of a parameter; GRAPH_NO_TENSOR where the parameter is frozen, switched off or
 * state. */
static inline uint32_t parameter_gradient(const struct plan *plan, const struct node *node, uint32_t i)
{
	return node->parameter[i] == GRAPH_NO_TENSOR ? GRAPH_NO_TENSOR
						     : graph_at(plan->graph, node->parameter[i])->gradient;
}

/* Returns scratch of the node, [a, b] numbers for each row. */
static inline uint32_t work_of_rows(struct plan *plan, const struct node *node, const char *name,
				    enum dtype dtype, uint64_t a, uint64_t b)
{
	const struct tensor shape = { .dtype = dtype, .rank = 2, .shape = { a, b }, .rows = true };

	return plan_work(plan, node, name, &shape);
}

/* Returns the work-groups for one work-item per element of [rows, elements of a row], ELEMENT_GROUP items
 * each. */
static inline struct extent per_element(const struct tensor *tensor)
{
	return (struct extent){ .per_row = tensor->elements, .tile = ELEMENT_GROUP };
}

/* Returns the work-groups of a kernel that works on rows of the last dimension. */
static inline struct extent per_outer(const struct plan *plan, const struct tensor *tensor)
{
	return rows_groups(plan, tensor_outer(tensor), tensor_last(tensor));
}

/* Appends the launch that adds the bias to the output, over the last dimension. */
void emit_bias(struct plan *plan, const struct node *node, uint32_t bias);
/* The same for a tensor whose rows are [outer, columns]. */
void emit_bias_of(struct plan *plan, uint32_t tensor, uint32_t bias, uint64_t outer, uint64_t columns);
/* Appends the launch of the gradient of a bias: the sums of `tensor`, whose rows are [outer, columns], over
 * all but the last dimension. Fusion joins it to a product of `tensor` that is the launch before. */
void emit_column_sums(struct plan *plan, uint32_t tensor, uint32_t sums, uint64_t outer, uint64_t columns);

/* A function for op.shape: the output has the shape of input 0. */
int same_shape(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err);
/* A function for op.shape: all inputs and the output have the same shape. */
int same_shapes(const struct graph *graph, const struct node *node, struct tensor *output, struct error *err);
/* Writes the integers of an attribute, "[2, 1]". Returns `out`. */
const char *items_text(const struct attribute *list, char out[static SHAPE_TEXT_BYTES]);
/* Returns the mask of input i as an argument for a kernel; a null pointer if it has none. */
static inline struct argument mask_argument(const struct plan *plan, const struct node *node, uint32_t i)
{
	return argument_optional(input_of(plan, node, i)->mask, ARGUMENT_IN);
}

/* Sets the error that input i has a shape that is not `allowed` beside input 0. Returns -EINVAL. */
int refuse_input(const struct graph *graph, const struct node *node, uint32_t i, const char *allowed,
		 struct error *err);
