/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/columns.h"

#include <inttypes.h>
#include <string.h>

#define COLUMN_ALIGN 4096u

static void *column(uint64_t bytes)
{
	return aligned_alloc(COLUMN_ALIGN, (bytes / COLUMN_ALIGN + 2) * COLUMN_ALIGN);
}

static int make_columns(struct columns *columns, uint64_t rows, struct error *err)
{
	struct batch_slot *batch = &columns->batch;
	bool whole;

	batch->schema = &columns->schema;
	batch->empty = column(rows);
	whole = batch->empty;
	for (uint32_t i = 0; i < columns->schema.features; i++) {
		const struct example_feature *feature = &columns->schema.feature[i];

		batch->row_bytes[i] = batch_row_bytes(feature);
		batch->values[i] = column(rows * batch->row_bytes[i]);
		batch->splits[i] = feature->values_max ? column((rows + 1) * sizeof(int64_t)) : NULL;
		whole = whole && batch->values[i] && (batch->splits[i] || !feature->values_max);
	}
	return whole ? 0 : error_set(err, -ENOMEM, "no memory for a batch of %" PRIu64 " rows", rows);
}

/* Returns the column with the name of a model's input. A ragged feature has two columns: splits and
 * values. */
static const void *find_column(const struct columns *columns, const char *name)
{
	char full_name[256];

	for (uint32_t i = 0; i < columns->schema.features; i++) {
		const char *feature = columns->schema.feature[i].name;

		if (!columns->batch.splits[i] && strcmp(name, feature) == 0)
			return columns->batch.values[i];
		(void)snprintf(full_name, sizeof(full_name), "%s" BATCH_SPLITS, feature);
		if (columns->batch.splits[i] && strcmp(name, full_name) == 0)
			return columns->batch.splits[i];
		(void)snprintf(full_name, sizeof(full_name), "%s" BATCH_VALUES, feature);
		if (columns->batch.splits[i] && strcmp(name, full_name) == 0)
			return columns->batch.values[i];
	}
	return NULL;
}

static int bind_model(struct columns *columns, const struct model *model, struct error *err)
{
	struct model_input input[MODEL_INPUTS_MAX];
	const struct model_input label = model_label(model), weight = model_sample_weight(model);
	bool whole = true;

	columns->inputs = model_inputs(model, input);
	for (uint32_t i = 0; i < columns->inputs; i++) {
		columns->input[i] = find_column(columns, input[i].name);
		whole = whole && columns->input[i];
	}
	columns->label = find_column(columns, label.name);
	columns->weight = weight.name ? find_column(columns, weight.name) : NULL;
	return whole && columns->label
		       ? 0
		       : error_set(err, -EINVAL, "the network reads a feature that is not in `schema`");
}

bool columns_reads(const struct columns *columns, uint32_t feature) // NOLINT(misc-no-recursion)
{
	const struct config *config = columns->config;
	const void *values = columns->batch.values[feature];

	for (uint32_t i = 0; i < columns->inputs; i++)
		if (columns->input[i] == values)
			return true;
	/* A made feature is behind the one that it is made of, so the recursion ends. */
	for (uint32_t i = config->features - config->made; i < config->features; i++)
		if (config->feature[i].made_by->from == feature && columns_reads(columns, i))
			return true;
	return columns->labels && (columns->label == values || columns->weight == values);
}

int columns_open(const struct config *config, const struct model *model, bool labels,
		 struct columns *ret_columns, struct error *err)
{
	int r = batch_schema(config, &ret_columns->schema, err);

	ret_columns->labels = labels;
	ret_columns->config = config;
	if (r < 0 || (r = batch_decoder_new(config, &ret_columns->decoder, err)) < 0 ||
	    (r = make_columns(ret_columns, config->run.batch_rows, err)) < 0 ||
	    (r = bind_model(ret_columns, model, err)) < 0)
		return r;
	for (uint32_t i = 0; i < ret_columns->schema.features; i++) {
		if (columns_reads(ret_columns, i))
			continue;
		ret_columns->schema.feature[i].optional |= !labels;
		if (config->feature[i].made_by)
			batch_decoder_skip(ret_columns->decoder, i);
	}
	return 0;
}

void columns_done(struct columns *columns)
{
	for (uint32_t i = 0; i < columns->schema.features; i++) {
		free(columns->batch.values[i]);
		free(columns->batch.splits[i]);
	}
	free(columns->batch.empty);
	batch_decoder_freep(&columns->decoder);
}

void columns_batch(struct columns *columns, uint32_t rows, uint64_t first_row, struct model_batch *ret_batch)
{
	uint64_t packed[EXAMPLE_FEATURES_MAX];

	batch_pack(&columns->batch, rows, packed);
	*ret_batch = (struct model_batch){ .label = columns->label,
					   .weight = columns->weight,
					   .rows = rows,
					   .valid_rows = rows,
					   .first_row = first_row };
	memcpy(ret_batch->input, columns->input, columns->inputs * sizeof(columns->input[0]));
}
