/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses tf.train.Example from wire bytes straight into typed columns, by a schema, and writes it. No
 * generated code; the parser allocates nothing. Pure functions on bytes; any thread.
 *
 * Results are those of TensorFlow's parse_example with FixedLenFeature and, for ragged features, with
 * RaggedFeature and VarLenFeature:
 *   - packed and unpacked lists; features in any order; unknown fields and features are skipped;
 *   - of a repeated map key, the last entry wins;
 *   - a feature that is missing or has no kind gets its default value, or is an error.
 * Sources: tensorflow/core/example/{example,feature}.proto,
 * tensorflow/core/util/example_proto_fast_parsing.cc.
 *
 * Why two parsers: nearly all records have the layout that every serializer writes, and a parser for this
 * layout alone (example_usual.c) needs one pass and no table of what it found. Any other record goes to the
 * general parser (example.c), which also finds the words for an error.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define EXAMPLE_FEATURES_MAX 1024u

/* On the wire, the last three are a bytes_list. EXAMPLE_UINT8: one value of `elements` bytes, which are the
 * row. EXAMPLE_ENCODED: one value of any length, such as a JPEG file, which is not copied: the row is a
 * struct example_encoded. */
enum example_dtype { EXAMPLE_FLOAT32 = 1, EXAMPLE_INT64, EXAMPLE_BYTES, EXAMPLE_UINT8, EXAMPLE_ENCODED };

/* How a row with fewer values than `elements` is filled: not at all (the row is an error), behind its own
 * values, or before them. */
enum example_padding { EXAMPLE_PAD_NONE, EXAMPLE_PAD_POST, EXAMPLE_PAD_PRE };

struct example_feature {
	const char *name;
	uint32_t dtype;      /* enum example_dtype */
	uint64_t elements;   /* values in one row: the product of the shape; EXAMPLE_ENCODED: of the values
				that it is decoded to, which the parser does not look at */
	bool optional;       /* a missing feature gets `fill` (bytes: the empty value) instead of -EBADMSG */
	double fill;         /* for EXAMPLE_INT64 an integer of at most 53 bits, for EXAMPLE_UINT8 one of 8 */
	uint64_t bytes_max;  /* EXAMPLE_BYTES: longest value accepted. A value lies in the row as a uint32
				length and the bytes, padded with zeros. */
	uint64_t values_max; /* numbers only; 0 = every row has `elements` values. Else the feature is ragged:
				a row has 0 .. values_max values, 0 where the feature is missing, and
				elements, optional and fill are ignored. */
	uint32_t padding; /* enum example_padding; numbers and EXAMPLE_BYTES. Not EXAMPLE_PAD_NONE: a record
			     has 0 .. `elements` values, 0 where the feature is missing, and the row the
			     others by example_pad(). */
	bool truncate;    /* cut off values beyond values_max or, with padding, `elements`, and bytes beyond
			     bytes_max: no -EBADMSG */
};

/* One row of a ragged feature. */
struct example_ragged {
	int64_t *count;
	void *values; /* space for values_max numbers */
};

/* One row of EXAMPLE_ENCODED: points into the parsed bytes. */
struct example_encoded {
	const uint8_t *data;
	uint64_t bytes;
};

struct example_schema {
	uint32_t features;
	uint32_t made; /* the last `made` features are not in records: the parser leaves their rows alone */
	struct example_feature feature[EXAMPLE_FEATURES_MAX];
};

/* Makes a schema of one feature. Sets only what the parser reads of it: a whole schema is large. */
static inline void example_schema_one(struct example_schema *schema, struct example_feature feature)
{
	schema->features = 1;
	schema->made = 0;
	schema->feature[0] = feature;
}

/* Returns the bytes of one row of this feature in its column; upper bound for a ragged feature. */
uint64_t example_row_bytes(const struct example_feature *feature);

/* Parses one serialized Example. ret_rows has a pointer for each feature, to example_row_bytes() bytes or,
 * for a ragged feature, to a struct example_ragged.
 * Errors: -EBADMSG naming the feature, what was found and what was expected; the rows are then undefined. */
MUST_CHECK int example_parse(const struct example_schema *schema, const void *data, uint64_t bytes,
			     void *const *ret_rows, struct error *err);

/* Returns whether a record has any feature of the schema; true, too, for bytes that are no Example, which
 * example_parse() refuses. */
bool example_has_any(const struct example_schema *schema, const void *data, uint64_t bytes);
/* Returns the name of a message that is not tf.train.Example, told by its shape: "ExampleListWithContext" or
 * "SequenceExample". NULL: none of these. */
const char *example_other(const void *data, uint64_t bytes);
/* Says that none of `records` records has a feature of the schema, which `which` calls "its" or "the first".
 * `other`: what example_other() says of the first record. Returns `code`. */
int example_no_feature(int code, const char *which, uint64_t records, const char *other, struct error *err);

/* Pads a row of numbers or EXAMPLE_BYTES whose first `count` values are there: the others become `fill`, or
 * empty values. They come before the values with EXAMPLE_PAD_PRE, else behind them. */
void example_pad(const struct example_feature *feature, void *row, uint64_t count);
/* Writes a value of EXAMPLE_BYTES, number `value` of a row, as the parser does: length, bytes, zeros. False:
 * it is longer than bytes_max, and may not be cut off. */
bool example_put_bytes(const struct example_feature *feature, void *row, uint64_t value, const void *bytes,
		       uint64_t count);
/* Returns value number `value` of a row of EXAMPLE_BYTES, and its length, which is at most bytes_max. */
const uint8_t *example_bytes_at(const struct example_feature *feature, const void *row, uint64_t value,
				uint64_t *ret_count);

/* Serializes rows as TensorFlow does: packed lists, features in the schema's order.
 * Returns the bytes needed; the buffer is complete only when they fit `capacity`. */
uint64_t example_write(const struct example_schema *schema, const void *const *rows, void *buffer,
		       uint64_t capacity);

/* Lists the features of an Example of any schema, for tools: calls `each` for every feature with its name,
 * dtype (0 = unset) and number of values. A negative result of `each` ends the list and is returned.
 * Errors: -EBADMSG the bytes are no Example. */
MUST_CHECK int example_describe(const void *data, uint64_t bytes,
				int (*each)(void *context, const char *name, uint64_t name_bytes,
					    uint32_t dtype, uint64_t count),
				void *context, struct error *err);
