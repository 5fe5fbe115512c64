/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one batch for a trained model, with a column for each feature of the schema. The caller
 * writes the rows one by one, with batch_parse() or through the pointers of struct batch_slot (data/batch.h).
 *
 * Order: columns_open -> (rows -> columns_batch)* -> columns_done.
 */
#pragma once

#include "data/batch.h"
#include "model/model.h"

struct columns {
	struct example_schema schema;
	struct batch_slot batch;
	const struct config *config;
	struct batch_decoder *decoder;
	bool labels;
	uint32_t inputs;
	const void *input[MODEL_INPUTS_MAX], *label, *weight;
};

/* Allocates the columns. `labels`: every record must have its label, and its sample weight if the model reads
 * one. Errors: -ENOMEM; -EINVAL the model reads a feature that is not in the schema. */
MUST_CHECK int columns_open(const struct config *config, const struct model *model, bool labels,
			    struct columns *ret_columns, struct error *err);
void columns_done(struct columns *columns);

/* Makes a batch of the rows written so far. The batch points into the columns and is valid until the next row
 * is written. */
void columns_batch(struct columns *columns, uint32_t rows, uint64_t first_row, struct model_batch *ret_batch);

/* Returns true where the model reads this feature of the schema, or one that `preprocess` makes of it, as an
 * input or, with `labels`, as label or sample weight. */
bool columns_reads(const struct columns *columns, uint32_t feature);
