/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder's file, which is also its form in memory. Little endian:
 * header, class names (TEXT_CLASS_BYTES each), sorted feature hashes (u64), weights (float, feature-major).
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
	uint32_t dims, classes, columns, features; /* columns: weights a feature, 1 for two classes */
	float scale;                               /* of all vectors; see VECTOR_RMS */
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

/* Bytes of a file of this shape. */
uint64_t text_file_bytes(uint32_t classes, uint32_t columns, uint64_t features);
/* Point an encoder into its bytes. */
void text_file_map(struct text_encoder *encoder);
/* Sum `count` features (indices into `weights`, -1-free) into buckets; the vector is not yet scaled. */
void text_accumulate(const uint64_t *feature, const float *weight, uint32_t columns, uint32_t dims,
		     const uint32_t *index, uint64_t count, float *ret_vector);
uint32_t text_columns(uint32_t classes);
