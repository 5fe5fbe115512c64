/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads protobuf's wire format; the field numbers of tf.train.Example. Every read is bounded by its struct
 * wire and returns false where the bytes end or break the format. Sources:
 * protobuf.dev/programming-guides/encoding; tensorflow/core/example/{example,feature}.proto.
 * For data/example*.c and model/formats/tfevents_read.c only.
 */
#pragma once

#include "data/example.h"

#include <assert.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "lists of floats are copied as they lie on the wire");

enum {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_GROUP = 3,
	WIRE_END_GROUP = 4,
	WIRE_FIXED32 = 5
};
enum { EXAMPLE_FEATURES = 1, FEATURES_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, LIST_VALUE = 1 };
enum { FEATURE_BYTES = 1, FEATURE_FLOAT = 2, FEATURE_INT64 = 3 };

/* Forces inlining of the functions that read each record, so that the two pointers of a struct wire stay in
 * registers. Otherwise the compiler stores them one by one and loads them as a pair; such a load waits until
 * every earlier store has left the processor, also the stores into a slot that no cache holds. That costs a
 * third of decoding's time. */
#define WIRE_INLINE __attribute__((always_inline)) static inline

/* Wire bytes that are still to be read. */
struct wire {
	const uint8_t *at, *end;
};

static inline uint64_t wire_bytes(struct wire wire)
{
	return (uint64_t)(wire.end - wire.at);
}

/* Reads an integer of at most ten bytes. Bits beyond 64 are dropped, as in protobuf. */
WIRE_INLINE bool read_varint(struct wire *wire, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
		uint8_t byte = *wire->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* Reads a length and as many bytes. */
WIRE_INLINE bool read_bytes(struct wire *wire, struct wire *ret)
{
	uint64_t length;

	if (!read_varint(wire, &length) || length > wire_bytes(*wire))
		return false;
	ret->at = wire->at;
	ret->end = wire->at += length;
	return true;
}

/* Returns the number of features that records have. */
static inline uint32_t record_features(const struct example_schema *schema)
{
	return schema->features - schema->made;
}

/* Returns the number of values that a row has space for. */
static inline uint64_t values_max(const struct example_feature *feature)
{
	return feature->values_max ? feature->values_max : feature->elements;
}

/* Returns the bytes that one value of EXAMPLE_BYTES takes in a row: its length in 32 bits, and bytes_max
 * rounded up to a multiple of 4. */
static inline uint64_t bytes_stride(const struct example_feature *feature)
{
	return sizeof(uint32_t) + (feature->bytes_max + 3) / 4 * 4;
}

/* Returns whether a row is made of one value of a bytes_list, whatever the feature's shape. */
static inline bool is_one_value(const struct example_feature *feature)
{
	return feature->dtype == EXAMPLE_UINT8 || feature->dtype == EXAMPLE_ENCODED;
}

/* Writes the one value of EXAMPLE_UINT8 or EXAMPLE_ENCODED into a row. False: it has another size. */
static inline bool put_one_value(const struct example_feature *feature, uint8_t *out, struct wire value)
{
	if (feature->dtype == EXAMPLE_ENCODED) {
		*(struct example_encoded *)(void *)out =
			(struct example_encoded){ value.at, wire_bytes(value) };
		return true;
	}
	if (wire_bytes(value) != feature->elements)
		return false;
	memcpy(out, value.at, feature->elements);
	return true;
}

/* Writes a value of EXAMPLE_BYTES into a row: length, bytes, zeros. Cuts off bytes beyond bytes_max. */
static inline void put_bytes_value(const struct example_feature *feature, uint8_t *out, struct wire value)
{
	uint64_t bytes = wire_bytes(value) < feature->bytes_max ? wire_bytes(value) : feature->bytes_max;
	uint32_t length = (uint32_t)bytes;

	memcpy(out, &length, sizeof(length));
	memcpy(out + sizeof(length), value.at, bytes);
	memset(out + sizeof(length) + bytes, 0, bytes_stride(feature) - sizeof(length) - bytes);
}

/* Parses the layout that every serializer writes: packed numbers, each key once, no unknown fields. False for
 * any other bytes, sound or not; the rows are then undefined. */
bool example_parse_usual(const struct example_schema *schema, struct wire example, void *const *ret_rows);
