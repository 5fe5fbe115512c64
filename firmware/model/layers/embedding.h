/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What embedding and embedding_bag share, which look rows of a table up by number: see kernels/embedding.cl.
 */
#pragma once

#include "model/layers/row.h"

enum { INPUT_DIM, OUTPUT_DIM, EMBEDDINGS_INITIALIZER, COMBINER, EMBEDDING_ATTRIBUTES };
enum { TABLE, EMBEDDING_PARAMETERS };
enum combiner { COMBINER_SUM, COMBINER_MEAN, COMBINER_SQRTN };

extern const struct attribute_spec embedding_attributes[EMBEDDING_ATTRIBUTES]; /* embedding has no COMBINER */
extern const struct parameter_spec embedding_parameters[EMBEDDING_PARAMETERS];

/* A node's sizes: ids of a row (at most, of ragged rows), rows of the table, columns. */
struct embedding_sizes {
	uint64_t per_row, ids, columns, blocks;
};
struct embedding_sizes embedding_sizes_of(const struct graph *graph, const struct node *node);
enum combiner embedding_combiner(const struct node *node);
/* Kernels count places and the table's numbers in 32 bits. Errors: -EINVAL what is too large. */
MUST_CHECK int embedding_check_sizes(const struct graph *graph, const struct node *node, struct error *err);

/* ---- Launches ---- */

/* NULL for the kernel where rows are not ragged. */
struct argument embedding_splits(const struct plan *plan, const struct node *node);
struct extent embedding_per_row(const struct embedding_sizes *size);
/* Which row, if any, has an id that the table lacks: the tensor that the look-up writes. */
uint32_t embedding_wrong(struct plan *plan, const struct node *node);
/* It becomes the fault of the pass. */
void embedding_emit_wrong(struct plan *plan, const struct node *node, uint32_t wrong, bool training);
void embedding_backward(struct plan *plan, const struct node *node);
struct touched embedding_touched(struct plan *plan, const struct node *node);

/* ---- References ---- */

/* y and gradients at 0. */
void embedding_refer_start(const struct op_reference *r);
/* `place` is a row of dy, `share` what an id of it counts. */
void embedding_refer(const struct op_reference *r, int64_t id, uint64_t place, double share);
