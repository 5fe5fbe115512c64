/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder's file, which is also the encoder's form in memory. Little endian: header, class names
 * (TEXT_CLASS_BYTES each), sorted feature hashes (u64), weights (float, all columns of a feature together).
 * For data/text*.c only.
 */
#pragma once

#include "data/text.h"

#include <assert.h>

#define TEXT_MAGIC   UINT64_C(0x545845544e4c494b) /* "KILNTEXT" */
#define TEXT_VERSION 1u

struct text_header {
	uint64_t magic;
	uint32_t version, crc;                     /* CRC-32C of all that follows these 16 bytes */
	uint32_t dims, classes, columns, features; /* columns: weights per feature, 1 for two classes */
	float scale;                               /* factor of all vectors: VECTOR_RMS in text_fit.c */
	uint32_t reserved[3];
};
static_assert(sizeof(struct text_header) == 48, "the header is 48 bytes");

struct text_encoder {
	uint8_t *data;
	uint64_t bytes;
	const struct text_header *header;
	const char *class_name;
	const uint64_t *feature;
	const float *weight;
};

/* Returns the bytes of a file of this shape. */
uint64_t text_file_bytes(uint32_t classes, uint32_t columns, uint64_t features);
/* Sets the encoder's pointers into its bytes. */
void text_file_map(struct text_encoder *encoder);
/* Sums the weights of `count` features, given by their indices, into buckets and divides by the square root
 * of `count`. The caller multiplies by the encoder's scale. */
void text_accumulate(const uint64_t *feature, const float *weight, uint32_t columns, uint32_t dims,
		     const uint32_t *index, uint64_t count, float *ret_vector);
/* Returns the number of weights per feature. */
uint32_t text_columns(uint32_t classes);
