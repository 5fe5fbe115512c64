/* SPDX-License-Identifier: Apache-2.0 */
#include "data/example_wire.h"

/* Returns the bytes that a value takes in a row. */
static uint64_t value_bytes(const struct example_feature *feature)
{
	return feature->dtype == EXAMPLE_FLOAT32 ? sizeof(float)
	       : feature->dtype == EXAMPLE_INT64 ? sizeof(int64_t)
						 : bytes_stride(feature);
}

/* Writes `fill`, or empty values, to values `from` .. `to` - 1 of a row. */
static void fill_values(const struct example_feature *feature, uint8_t *out, uint64_t from, uint64_t to)
{
	const float number = (float)feature->fill;
	const int64_t whole = (int64_t)feature->fill;
	const uint64_t bytes = value_bytes(feature);

	memset(out + from * bytes, 0, (to - from) * bytes);
	for (uint64_t i = from; feature->dtype == EXAMPLE_FLOAT32 && i < to; i++)
		memcpy(out + i * bytes, &number, sizeof(number));
	for (uint64_t i = from; feature->dtype == EXAMPLE_INT64 && i < to; i++)
		memcpy(out + i * bytes, &whole, sizeof(whole));
}

void example_pad(const struct example_feature *feature, void *row, uint64_t count)
{
	const uint64_t missing = feature->elements - count, bytes = value_bytes(feature);
	uint8_t *out = row;

	if (feature->padding == EXAMPLE_PAD_PRE) {
		memmove(out + missing * bytes, out, count * bytes);
		fill_values(feature, out, 0, missing);
	} else {
		fill_values(feature, out, count, feature->elements);
	}
}
