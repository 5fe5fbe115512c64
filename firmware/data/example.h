/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf.train.Example, straight from wire bytes into typed columns by a schema, and back. No generated code, no
 * allocation in the parser. Behaves as TensorFlow's parse_example does with FixedLenFeature and, for ragged
 * features, with RaggedFeature and VarLenFeature: packed and unpacked encodings, features in any order,
 * unknown fields and features skipped, the last of a repeated map key wins, unset kinds and missing features
 * by default value or error. Source: tensorflow/core/example/{example,feature}.proto,
 * tensorflow/core/util/example_proto_fast_parsing.cc.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define EXAMPLE_FEATURES_MAX 32u

enum example_dtype { EXAMPLE_FLOAT32 = 1, EXAMPLE_INT64, EXAMPLE_BYTES };

struct example_feature {
	const char *name;
	uint32_t dtype;    /* enum example_dtype */
	uint64_t elements; /* values in one row: the product of the shape */
	bool optional;     /* missing or unset: fill with `fill` (0 or empty for bytes) instead of -EBADMSG */
	double fill;       /* for EXAMPLE_INT64 an integer of at most 53 bits */
	uint64_t bytes_max;  /* EXAMPLE_BYTES: longest value accepted; a row then is a uint32 length and the
				bytes, padded */
	uint64_t values_max; /* numbers; 0 = `elements` in every row, else ragged: up to so many, none where
				the feature is missing; elements, optional and fill mean nothing then */
	bool truncate;       /* what is beyond values_max or bytes_max is cut off instead of -EBADMSG */
};

/* The row of a ragged feature. */
struct example_ragged {
	int64_t *count;
	void *values; /* values_max of them */
};

struct example_schema {
	uint32_t features;
	struct example_feature feature[EXAMPLE_FEATURES_MAX];
};

/* Bytes that one row of this feature takes in its column, a ragged one at most. */
uint64_t example_row_bytes(const struct example_feature *feature);

/* Parse one serialized Example into row pointers, one a feature, each example_row_bytes() long; a
 * ragged feature's points to a struct example_ragged.
 * Errors: -EBADMSG naming the feature, what was found and expected; outputs are then undefined. */
MUST_CHECK int example_parse(const struct example_schema *schema, const void *data, uint64_t bytes,
			     void *const *ret_rows, struct error *err);

/* Serialize rows as TensorFlow does (packed lists, features in schema order).
 * Returns the bytes needed; writes only when they fit `capacity`. */
uint64_t example_write(const struct example_schema *schema, const void *const *rows, void *buffer,
		       uint64_t capacity);

/* One feature of an Example of any schema, for tools: calls `each` with name, dtype (0 = unset) and count. */
MUST_CHECK int example_describe(const void *data, uint64_t bytes,
				int (*each)(void *context, const char *name, uint64_t name_bytes,
					    uint32_t dtype, uint64_t count),
				void *context, struct error *err);
