/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text.h"

#include "data/crc32c.h"
#include "data/text_file.h"
#include "data/text_tokens.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

uint32_t text_columns(uint32_t classes)
{
	return classes == 2 ? 1 : classes;
}

uint64_t text_file_bytes(uint32_t classes, uint32_t columns, uint64_t features)
{
	return sizeof(struct text_header) + (uint64_t)classes * TEXT_CLASS_BYTES +
	       features * (sizeof(uint64_t) + columns * sizeof(float));
}

void text_file_map(struct text_encoder *encoder)
{
	encoder->header = (const struct text_header *)(const void *)encoder->data;
	encoder->class_name = (const char *)(encoder->header + 1);
	encoder->feature =
		(const uint64_t *)(const void *)(encoder->class_name +
						 (size_t)encoder->header->classes * TEXT_CLASS_BYTES);
	encoder->weight = (const float *)(const void *)(encoder->feature + encoder->header->features);
}

static int check(const struct text_encoder *encoder, struct error *err)
{
	const struct text_header *header = encoder->header;

	for (uint32_t i = 0; i < header->classes; i++)
		if (!memchr(encoder->class_name + (size_t)i * TEXT_CLASS_BYTES, '\0', TEXT_CLASS_BYTES))
			return error_set(err, -EBADMSG, "the encoder's class name %u does not end", i);
	for (uint32_t i = 1; i < header->features; i++)
		if (encoder->feature[i] <= encoder->feature[i - 1])
			return error_set(err, -EBADMSG, "the encoder's feature %u is out of order", i);
	for (uint64_t i = 0; i < (uint64_t)header->features * header->columns; i++)
		if (!isfinite(encoder->weight[i]))
			return error_set(err, -EBADMSG, "the encoder's weight %" PRIu64 " is not a number",
					 i);
	return 0;
}

static int check_header(const struct text_header *header, uint64_t bytes, struct error *err)
{
	if (bytes < sizeof(*header) || header->magic != TEXT_MAGIC || header->version != TEXT_VERSION)
		return error_set(err, -EBADMSG, "not a Kiln text encoder of version %u", TEXT_VERSION);
	if (header->classes < 2 || header->classes > TEXT_CLASSES_MAX ||
	    header->dims < text_columns(header->classes) || header->dims > TEXT_DIMS_MAX ||
	    header->columns != text_columns(header->classes) || !isfinite(header->scale) ||
	    bytes != text_file_bytes(header->classes, header->columns, header->features))
		return error_set(
			err, -EBADMSG,
			"the encoder says %u dims, %u classes, %u features, which does not fit its %" PRIu64
			" bytes",
			header->dims, header->classes, header->features, bytes);
	return 0;
}

int text_encoder_load(const void *data, uint64_t bytes, struct text_encoder **ret_encoder, struct error *err)
{
	CLEANUP(text_encoder_freep) struct text_encoder *encoder = calloc(1, sizeof(*encoder));
	uint32_t crc;
	int r;

	if (!encoder || !(encoder->data = malloc(bytes + 1)))
		return error_set(err, -ENOMEM, "no memory for an encoder of %" PRIu64 " bytes", bytes);
	memcpy(encoder->data, data, bytes);
	encoder->bytes = bytes;
	encoder->header = (const struct text_header *)(const void *)encoder->data;
	r = check_header(encoder->header, bytes, err);
	if (r < 0)
		return r;
	crc = crc32c(0, encoder->data + 16, bytes - 16);
	if (crc != encoder->header->crc)
		return error_set(err, -EBADMSG, "the encoder's CRC is 0x%08x, expected 0x%08x",
				 encoder->header->crc, crc);
	text_file_map(encoder);
	r = check(encoder, err);
	if (r < 0)
		return r;
	*ret_encoder = TAKE(encoder);
	return 0;
}

void text_encoder_free(struct text_encoder *encoder)
{
	if (!encoder)
		return;
	free(encoder->data);
	free(encoder);
}

void text_encoder_freep(struct text_encoder **encoder)
{
	text_encoder_free(*encoder);
}

const void *text_encoder_bytes(const struct text_encoder *encoder, uint64_t *ret_bytes)
{
	*ret_bytes = encoder->bytes;
	return encoder->data;
}

uint32_t text_encoder_dims(const struct text_encoder *encoder)
{
	return encoder->header->dims;
}

uint32_t text_encoder_classes(const struct text_encoder *encoder)
{
	return encoder->header->classes;
}

const char *text_encoder_class(const struct text_encoder *encoder, uint32_t index)
{
	return encoder->class_name + (size_t)index * TEXT_CLASS_BYTES;
}

void text_accumulate(const uint64_t *feature, const float *weight, uint32_t columns, uint32_t dims,
		     const uint32_t *index, uint64_t count, float *ret_vector)
{
	uint32_t buckets = dims / columns;
	float norm = count ? 1.0f / sqrtf((float)count) : 0;

	memset(ret_vector, 0, dims * sizeof(*ret_vector));
	for (uint64_t i = 0; i < count; i++) {
		uint32_t bucket = (uint32_t)(feature[index[i]] % buckets);

		for (uint32_t c = 0; c < columns; c++)
			ret_vector[c * buckets + bucket] += weight[(uint64_t)index[i] * columns + c];
	}
	for (uint32_t i = 0; i < dims; i++)
		ret_vector[i] *= norm;
}

static bool find(const struct text_encoder *encoder, uint64_t hash, uint32_t *ret_index)
{
	uint32_t low = 0, high = encoder->header->features;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (encoder->feature[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_index = low;
	return low < encoder->header->features && encoder->feature[low] == hash;
}

int text_encode(const struct text_encoder *encoder, const char *text, uint64_t bytes, float *ret_vector,
		struct error *err)
{
	CLEANUP(free_ptr) uint64_t *features = NULL;
	CLEANUP(free_ptr) uint32_t *index = NULL;
	int64_t count = text_features(text, bytes, &features);
	uint64_t known = 0;

	if (count >= 0)
		index = malloc(((uint64_t)count + 1) * sizeof(*index));
	if (count < 0 || !index)
		return error_set(err, -ENOMEM, "no memory to encode a text of %" PRIu64 " bytes", bytes);
	for (int64_t i = 0; i < count; i++)
		known += find(encoder, features[i], &index[known]);
	text_accumulate(encoder->feature, encoder->weight, encoder->header->columns, encoder->header->dims,
			index, known, ret_vector);
	for (uint32_t i = 0; i < encoder->header->dims; i++)
		ret_vector[i] *= encoder->header->scale;
	return 0;
}
