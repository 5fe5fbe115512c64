/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by embedding and embedding_bag: both look up rows of a table by number. See kernels/embedding.cl.
 */
#pragma once

#include "model/layers/row.h"

enum {
	INPUT_DIM,
	OUTPUT_DIM,
	EMBEDDINGS_INITIALIZER,
	MASK_ZERO,            /* embedding */
	COMBINER = MASK_ZERO, /* embedding_bag */
	EMBEDDING_BAG_ATTRIBUTES,
};
enum { TABLE, EMBEDDING_PARAMETERS };
enum combiner { COMBINER_SUM, COMBINER_MEAN, COMBINER_SQRTN };

extern const struct attribute_spec embedding_bag_attributes[EMBEDDING_BAG_ATTRIBUTES];
extern const struct parameter_spec embedding_parameters[EMBEDDING_PARAMETERS];

/* Sizes of a node: ids in a row of the batch (an upper bound for ragged rows), rows of the table (`ids`),
 * columns of the table. */
struct embedding_sizes {
	uint64_t per_row, ids, columns;
};
struct embedding_sizes embedding_sizes_of(const struct graph *graph, const struct node *node);
enum combiner embedding_combiner(const struct node *node);
/* Checks that kernels can count the ids of a batch and the numbers of the table in 32 bits. Errors: -EINVAL a
 * size is too large; the text names it. */
MUST_CHECK int embedding_check_sizes(const struct graph *graph, const struct node *node, struct error *err);

/* ---- Launches ---- */

/* Returns the splits as an argument for a kernel; a null pointer if the rows are not ragged. */
struct argument embedding_splits(const struct plan *plan, const struct node *node);
/* Returns the work-groups of a look-up that writes `rows` rows of the width of the table for each row of the
 * batch: on CPU devices a block of columns of all these rows an item, on GPUs a quad of one of them. */
struct extent embedding_per_row(const struct plan *plan, const struct embedding_sizes *size, uint64_t rows);
/* Returns the scratch tensor in which the look-up marks rows with an invalid id, that is one the table does
 * not have. */
uint32_t embedding_wrong(struct plan *plan, const struct node *node);
/* Appends the launch that reports the first row with an invalid id as the fault of the pass. `wrong` is the
 * tensor of embedding_wrong(). */
void embedding_emit_wrong(struct plan *plan, const struct node *node, uint32_t wrong, bool training);
void embedding_backward(struct plan *plan, const struct node *node);
struct touched embedding_touched(struct plan *plan, const struct node *node);

/* ---- References ---- */

/* Sets y and the gradient to 0. */
void embedding_refer_start(const struct op_reference *r);
/* Adds row `id` of the table, times `share`, to row `position` of y; with dy, adds row `position` of dy,
 * times `share`, to the gradient of row `id`. */
void embedding_refer(const struct op_reference *r, int64_t id, uint64_t position, double share);
