/* SPDX-License-Identifier: Apache-2.0 */
#include "data/example.h"
#include "data/varint.h"

#include <string.h>

/* Counts the bytes always, writes them while they fit: the same walk measures and writes. */
struct out {
	uint8_t *data;
	uint64_t used, capacity;
};

static void put(struct out *out, const void *data, uint64_t bytes)
{
	if (out->used + bytes <= out->capacity)
		memcpy(out->data + out->used, data, bytes);
	out->used += bytes;
}

static void put_varint(struct out *out, uint64_t value)
{
	uint8_t byte[VARINT_BYTES_MAX];

	put(out, byte, varint_write(byte, value));
}

/* Returns the bytes of a length-delimited field with a one-byte tag. */
static uint64_t field_bytes(uint64_t length)
{
	uint8_t byte[VARINT_BYTES_MAX];

	return 1 + varint_write(byte, length) + length;
}

static void put_header(struct out *out, uint8_t field, uint64_t length)
{
	uint8_t tag = (uint8_t)(field << 3 | 2);

	put(out, &tag, 1);
	put_varint(out, length);
}

/* Returns where a row's values lie, and their number. */
static const uint8_t *values_of(const struct example_feature *feature, const void *row, uint64_t *ret_count)
{
	const struct example_ragged *ragged = row;

	*ret_count = feature->values_max ? (uint64_t)*ragged->count : feature->elements;
	return feature->values_max ? ragged->values : row;
}

static const uint8_t *bytes_value(const struct example_feature *feature, const uint8_t *row, uint64_t index,
				  uint32_t *ret_length)
{
	const uint8_t *at = row + index * (sizeof(uint32_t) + (feature->bytes_max + 3) / 4 * 4);

	memcpy(ret_length, at, sizeof(*ret_length));
	return at + sizeof(*ret_length);
}

/* Writes the list message: numbers packed into one field, bytes with a field for each value. */
static void put_list(struct out *out, const struct example_feature *feature, const void *row)
{
	struct out bytes = { 0 };
	uint64_t count;
	const uint8_t *values = values_of(feature, row, &count);

	if (feature->dtype == EXAMPLE_BYTES) {
		for (uint64_t i = 0; i < count; i++) {
			uint32_t length;
			const uint8_t *value = bytes_value(feature, values, i, &length);

			put_header(out, 1, length);
			put(out, value, length);
		}
		return;
	}
	if (feature->dtype == EXAMPLE_UINT8 || feature->dtype == EXAMPLE_ENCODED) {
		const struct example_encoded raw = { row, feature->elements },
					     *value = feature->dtype == EXAMPLE_UINT8 ? &raw : row;

		put_header(out, 1, value->bytes);
		put(out, value->data, value->bytes);
		return;
	}
	if (feature->dtype == EXAMPLE_FLOAT32) {
		put_header(out, 1, count * sizeof(float));
		put(out, values, count * sizeof(float));
		return;
	}
	for (int pass = 0; pass < 2; pass++) {
		struct out *target = pass ? out : &bytes;

		if (pass)
			put_header(out, 1, bytes.used);
		for (uint64_t i = 0; i < count; i++) {
			uint64_t value;

			memcpy(&value, values + i * sizeof(value), sizeof(value));
			put_varint(target, value);
		}
	}
}

static void put_entry(struct out *out, const struct example_feature *feature, const void *row)
{
	static const uint8_t kind[] = { [EXAMPLE_FLOAT32] = 2,
					[EXAMPLE_INT64] = 3,
					[EXAMPLE_BYTES] = 1,
					[EXAMPLE_UINT8] = 1,
					[EXAMPLE_ENCODED] = 1 };
	struct out list = { 0 };
	uint64_t name = strlen(feature->name), value;

	put_list(&list, feature, row);
	value = field_bytes(list.used);
	put_header(out, 1, field_bytes(name) + field_bytes(value));
	put_header(out, 1, name);
	put(out, feature->name, name);
	put_header(out, 2, value);
	put_header(out, kind[feature->dtype], list.used);
	put_list(out, feature, row);
}

uint64_t example_write(const struct example_schema *schema, const void *const *rows, void *buffer,
		       uint64_t capacity)
{
	struct out entries = { 0 }, out = { buffer, 0, capacity };

	for (uint32_t i = 0; i < schema->features - schema->made; i++)
		put_entry(&entries, &schema->feature[i], rows[i]);
	put_header(&out, 1, entries.used);
	for (uint32_t i = 0; i < schema->features - schema->made; i++)
		put_entry(&out, &schema->feature[i], rows[i]);
	return out.used;
}
