/* SPDX-License-Identifier: Apache-2.0 */
#include "data/batch.h"

#include "data/preprocess.h"

#include <inttypes.h>
#include <string.h>

/* Whether `name` is the name of one of the ragged feature's two columns. */
static bool is_column_of(const struct example_feature *ragged, const char *name)
{
	size_t bytes = strlen(ragged->name);

	return strncmp(name, ragged->name, bytes) == 0 &&
	       (strcmp(name + bytes, BATCH_SPLITS) == 0 || strcmp(name + bytes, BATCH_VALUES) == 0);
}

static_assert((int)EXAMPLE_PAD_POST == (int)PADDING_POST && (int)EXAMPLE_PAD_PRE == (int)PADDING_PRE,
	      "a schema pads as the configuration says");

static bool has_quarantine(const struct config *config)
{
	return config->fetch.bad_record == BAD_RECORD_SKIP;
}

static int check_columns(const struct example_schema *schema, struct error *err)
{
	for (uint32_t i = 0; i < schema->features; i++)
		for (uint32_t k = 0; schema->feature[i].values_max && k < schema->features; k++)
			if (is_column_of(&schema->feature[i], schema->feature[k].name))
				return error_set(
					err, -EINVAL,
					"schema: \"%s\" is also a column of the ragged feature \"%s\"",
					schema->feature[k].name, schema->feature[i].name);
	return 0;
}

int batch_schema(const struct config *config, struct example_schema *ret_schema, struct error *err)
{
	static const uint32_t dtypes[] = { EXAMPLE_FLOAT32, EXAMPLE_INT64, EXAMPLE_BYTES, EXAMPLE_UINT8,
					   EXAMPLE_ENCODED };

	ret_schema->features = config->features;
	ret_schema->made = config->made;
	for (uint32_t i = 0; i < config->features; i++) {
		const struct config_feature *from = &config->feature[i];
		uint64_t elements = 1;

		for (uint32_t d = 0; d < from->rank; d++)
			if (__builtin_mul_overflow(elements, from->shape[d], &elements) ||
			    elements > UINT32_MAX / 8)
				return error_set(err, -EINVAL, "schema: \"%s\" has too many values",
						 from->name);
		ret_schema->feature[i] =
			(struct example_feature){ .name = from->name,
						  .dtype = dtypes[from->dtype],
						  .elements = elements,
						  .optional = from->missing == MISSING_DEFAULT,
						  .fill = from->fill,
						  .bytes_max = from->bytes_max,
						  .values_max = from->values_max,
						  .padding = (uint32_t)from->padding,
						  .truncate = from->overflow == OVERFLOW_TRUNCATE };
		if (elements > UINT32_MAX / (from->bytes_max + 8) && from->dtype == CONFIG_BYTES)
			return error_set(err, -EINVAL, "schema: \"%s\" takes more than 4 GiB per row",
					 from->name);
	}
	return check_columns(ret_schema, err);
}

static void add_column(struct ring_geometry *geometry, const char *name, const char *suffix, uint32_t dtype,
		       uint64_t row_bytes, uint64_t capacity)
{
	struct ring_column_spec *column = &geometry->column[geometry->columns++];

	(void)snprintf(column->name, sizeof(column->name), "%s%s", name, suffix);
	column->dtype = dtype;
	column->row_bytes = (uint32_t)row_bytes;
	column->capacity = capacity;
}

void batch_geometry(const struct config *config, const struct example_schema *schema, uint64_t rows,
		    struct ring_geometry *ret_geometry)
{
	static const uint32_t dtypes[] = { 0, RING_FLOAT32, RING_INT64, RING_UINT8, RING_UINT8, RING_UINT8 };

	memset(ret_geometry, 0, sizeof(*ret_geometry));
	ret_geometry->slots = (uint32_t)config->ring.slots;
	for (uint32_t i = 0; i < schema->features; i++) {
		const struct example_feature *feature = &schema->feature[i];
		uint64_t row_bytes = batch_row_bytes(feature);

		if (feature->values_max) {
			add_column(ret_geometry, feature->name, BATCH_SPLITS, RING_INT64, sizeof(int64_t),
				   (rows + 1) * sizeof(int64_t));
			add_column(ret_geometry, feature->name, BATCH_VALUES, dtypes[feature->dtype], 0,
				   rows * row_bytes);
		} else {
			add_column(ret_geometry, feature->name, "", dtypes[feature->dtype], row_bytes,
				   rows * row_bytes);
		}
	}
	add_column(ret_geometry, BATCH_COLUMN_EMPTY, "", RING_UINT8, 1, rows);
	if (has_quarantine(config))
		add_column(ret_geometry, BATCH_COLUMN_QUARANTINE, "", RING_UINT8, 0,
			   sizeof(struct ring_quarantine));
}

/* ---- Slots ---- */

struct batch_slot batch_slot(const struct example_schema *schema, const struct ring *ring,
			     const struct ring_slot *slot)
{
	struct batch_slot batch = { .schema = schema };
	uint32_t column = 0;

	for (uint32_t i = 0; i < schema->features; i++) {
		if (schema->feature[i].values_max)
			batch.splits[i] = ring_column_data(ring, slot, column++);
		batch.values[i] = ring_column_data(ring, slot, column++);
		batch.row_bytes[i] = batch_row_bytes(&schema->feature[i]);
	}
	batch.empty = ring_column_data(ring, slot, column++);
	if (column < ring_geometry_of(ring)->columns)
		batch.quarantine = ring_column_data(ring, slot, column);
	return batch;
}

/* ---- Decoders ---- */

struct batch_decoder {
	struct picture_decoder *pictures; /* NULL: no feature is a picture */
	struct preprocess *preprocess;    /* NULL: no feature is made of others */
	struct picture_form form[EXAMPLE_FEATURES_MAX];
	bool random[EXAMPLE_FEATURES_MAX]; /* random_crop */
};

int batch_decoder_new(const struct config *config, struct batch_decoder **ret_decoder, struct error *err)
{
	CLEANUP(batch_decoder_freep) struct batch_decoder *decoder = calloc(1, sizeof(*decoder));
	bool any = false;
	int r;

	if (!decoder)
		return error_set(err, -ENOMEM, "no memory for a decoder");
	for (uint32_t i = 0; i < config->features; i++) {
		if (config->feature[i].dtype != CONFIG_PICTURE)
			continue;
		any = true;
		decoder->form[i] = picture_form_of(&config->feature[i]);
		decoder->random[i] = config->feature[i].random_crop;
	}
	if ((r = preprocess_open(config, &decoder->preprocess, err)) < 0 ||
	    (r = any ? picture_decoder_new(&decoder->pictures, err) : 0) < 0)
		return r;
	*ret_decoder = any || decoder->preprocess ? TAKE(decoder) : NULL;
	return 0;
}

void batch_decoder_freep(struct batch_decoder **decoder)
{
	if (*decoder) {
		picture_decoder_free((*decoder)->pictures);
		preprocess_freep(&(*decoder)->preprocess);
	}
	free(TAKE(*decoder));
}

void batch_decoder_skip(struct batch_decoder *decoder, uint32_t feature)
{
	if (decoder && decoder->preprocess)
		preprocess_skip(decoder->preprocess, feature);
}

uint64_t batch_decoder_warnings(const struct batch_decoder *decoder)
{
	return decoder && decoder->pictures ? picture_warnings(decoder->pictures) : 0;
}

static int decode_pictures(const struct batch_slot *batch, struct batch_decoder *decoder, uint32_t row,
			   const struct example_encoded encoded[static EXAMPLE_FEATURES_MAX],
			   const uint64_t *bits, struct error *err)
{
	for (uint32_t i = 0; i < batch->schema->features; i++) {
		const struct example_feature *feature = &batch->schema->feature[i];
		struct picture_place place = { 0 };

		if (feature->dtype != EXAMPLE_ENCODED)
			continue;
		if (bits && decoder->random[i])
			place = (struct picture_place){ true, (uint32_t)(*bits >> 32), (uint32_t)*bits };
		if (picture_decode(decoder->pictures, &decoder->form[i], place, encoded[i].data,
				   encoded[i].bytes, batch->values[i] + row * batch->row_bytes[i], err) < 0)
			return error_prefix(err, "feature \"%s\"", feature->name);
	}
	return 0;
}

int batch_make(const struct batch_slot *batch, const struct batch_decoder *decoder, uint32_t row,
	       struct error *err)
{
	return decoder && decoder->preprocess ? preprocess_row(decoder->preprocess, batch, row, err) : 0;
}

int batch_parse(const struct batch_slot *batch, struct batch_decoder *decoder, uint32_t row,
		const void *record, uint64_t bytes, const uint64_t *bits, struct error *err)
{
	struct example_ragged ragged[EXAMPLE_FEATURES_MAX];
	struct example_encoded encoded[EXAMPLE_FEATURES_MAX];
	void *rows[EXAMPLE_FEATURES_MAX];
	int r;

	for (uint32_t i = 0; i < batch->schema->features; i++) {
		rows[i] = batch->values[i] + row * batch->row_bytes[i];
		if (batch->splits[i]) {
			ragged[i] = (struct example_ragged){ &batch->splits[i][row + 1], rows[i] };
			rows[i] = &ragged[i];
		}
		if (batch->schema->feature[i].dtype == EXAMPLE_ENCODED)
			rows[i] = &encoded[i];
	}
	r = example_parse(batch->schema, record, bytes, rows, err);
	if (r == 0 && decoder)
		r = decode_pictures(batch, decoder, row, encoded, bits, err);
	if (r == 0)
		r = batch_make(batch, decoder, row, err);
	batch->empty[row] = 0;
	if (r < 0)
		batch_empty_row(batch, row);
	return r;
}

static int set_label(const struct example_feature *feature, int64_t *row, uint64_t label, struct error *err)
{
	if (feature->elements == 1) {
		*row = (int64_t)label;
		return 0;
	}
	if (label >= feature->elements)
		return error_set(err, -EBADMSG,
				 "feature \"%s\": found class %" PRIu64 ", expected one of %" PRIu64
				 " values",
				 feature->name, label, feature->elements);
	memset(row, 0, feature->elements * sizeof(*row));
	row[label] = 1;
	return 0;
}

int batch_object(const struct batch_slot *batch, struct batch_decoder *decoder, uint32_t row,
		 const void *object, uint64_t bytes, uint64_t label, const uint64_t *bits, struct error *err)
{
	struct example_encoded encoded[EXAMPLE_FEATURES_MAX];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < batch->schema->features; i++) {
		uint8_t *at = batch->values[i] + row * batch->row_bytes[i];

		if (batch->schema->feature[i].dtype == EXAMPLE_ENCODED)
			encoded[i] = (struct example_encoded){ object, bytes };
		else
			r = set_label(&batch->schema->feature[i], (int64_t *)(void *)at, label, err);
	}
	if (r == 0)
		r = decode_pictures(batch, decoder, row, encoded, bits, err);
	batch->empty[row] = 0;
	if (r < 0)
		batch_empty_row(batch, row);
	return r;
}

void batch_empty_row(const struct batch_slot *batch, uint32_t row)
{
	for (uint32_t i = 0; i < batch->schema->features; i++)
		if (batch->splits[i])
			batch->splits[i][row + 1] = 0;
		else
			memset(batch->values[i] + row * batch->row_bytes[i], 0, batch->row_bytes[i]);
	batch->empty[row] = 1;
}

uint64_t batch_row_bytes(const struct example_feature *feature)
{
	return feature->dtype == EXAMPLE_ENCODED ? feature->elements : example_row_bytes(feature);
}

bool batch_has_pictures(const struct example_schema *schema)
{
	for (uint32_t i = 0; i < schema->features; i++)
		if (schema->feature[i].dtype == EXAMPLE_ENCODED)
			return true;
	return false;
}

bool batch_is_ragged(const struct example_schema *schema)
{
	for (uint32_t i = 0; i < schema->features; i++)
		if (schema->feature[i].values_max)
			return true;
	return false;
}

/* A broken reader can write to the counts, which lie in shared memory: bound each count by the row. */
static uint64_t pack_column(const struct example_feature *feature, int64_t *splits, uint8_t *values,
			    uint32_t rows)
{
	uint64_t row_bytes = example_row_bytes(feature), value_bytes = row_bytes / feature->values_max,
		 at = 0;

	splits[0] = 0;
	for (uint32_t row = 0; row < rows; row++) {
		uint64_t count = (uint64_t)splits[row + 1];

		if (count > feature->values_max)
			count = feature->values_max;
		memmove(values + at * value_bytes, values + row * row_bytes, count * value_bytes);
		at += count;
		splits[row + 1] = (int64_t)at;
	}
	return at * value_bytes;
}

void batch_pack(const struct batch_slot *batch, uint32_t rows,
		uint64_t ret_bytes[static EXAMPLE_FEATURES_MAX])
{
	for (uint32_t i = 0; i < batch->schema->features; i++)
		if (batch->splits[i])
			ret_bytes[i] = pack_column(&batch->schema->feature[i], batch->splits[i],
						   batch->values[i], rows);
}

void batch_set_bytes(const struct example_schema *schema, const struct ring_geometry *geometry,
		     const uint64_t packed[static EXAMPLE_FEATURES_MAX], struct ring_slot *slot)
{
	uint32_t column = 0;

	for (uint32_t i = 0; i < geometry->columns; i++)
		slot->column[i].bytes = (uint64_t)slot->rows * geometry->column[i].row_bytes;
	for (uint32_t i = 0; slot->rows > 0 && i < schema->features; i++, column++)
		if (schema->feature[i].values_max) {
			slot->column[column++].bytes += sizeof(int64_t);
			slot->column[column].bytes = packed[i];
		}
}
