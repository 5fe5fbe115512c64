/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by embedding and embedding_bag: both look up rows of a table by number. See kernels/embedding.cl.
 */
#pragma once

#include "model/layers/row.h"

enum { INPUT_DIM, OUTPUT_DIM, EMBEDDINGS_INITIALIZER, COMBINER, EMBEDDING_ATTRIBUTES };
enum { TABLE, EMBEDDING_PARAMETERS };
enum combiner { COMBINER_SUM, COMBINER_MEAN, COMBINER_SQRTN };

extern const struct attribute_spec
	embedding_attributes[EMBEDDING_ATTRIBUTES]; /* COMBINER is embedding_bag's alone */
extern const struct parameter_spec embedding_parameters[EMBEDDING_PARAMETERS];

/* Sizes of a node: ids of a row (an upper bound for ragged rows), rows of the table, columns. */
struct embedding_sizes {
	uint64_t per_row, ids, columns, blocks;
};
struct embedding_sizes embedding_sizes_of(const struct graph *graph, const struct node *node);
enum combiner embedding_combiner(const struct node *node);
/* Checks that kernels can count ids and the table's numbers in 32 bits. Errors: -EINVAL what is too large. */
MUST_CHECK int embedding_check_sizes(const struct graph *graph, const struct node *node, struct error *err);

/* ---- Launches ---- */

/* Returns the splits of ragged rows; else a null pointer for the kernel. */
struct argument embedding_splits(const struct plan *plan, const struct node *node);
struct extent embedding_per_row(const struct embedding_sizes *size);
/* Returns the scratch tensor in which the look-up notes the rows with an id that the table lacks. */
uint32_t embedding_wrong(struct plan *plan, const struct node *node);
/* Appends the launch that makes the first such row the fault of the pass. */
void embedding_emit_wrong(struct plan *plan, const struct node *node, uint32_t wrong, bool training);
void embedding_backward(struct plan *plan, const struct node *node);
struct touched embedding_touched(struct plan *plan, const struct node *node);

/* ---- References ---- */

/* Sets y and the gradient to 0. */
void embedding_refer_start(const struct op_reference *r);
/* Adds row `id` of the table, times `share`, to row `place` of y; with dy, adds row `place` of dy, times
 * `share`, to the gradient of row `id`. */
void embedding_refer(const struct op_reference *r, int64_t id, uint64_t place, double share);
