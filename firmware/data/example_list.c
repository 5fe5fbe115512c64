/* SPDX-License-Identifier: Apache-2.0 */
#include "data/example_list.h"

#define GROUPS_MAX 64 /* upper bound of nested groups; protobuf refuses 100 levels of any nesting */

/* ---- Fields ---- */

bool example_read_tag(struct wire *wire, uint32_t *ret_field, uint32_t *ret_type)
{
	uint64_t tag;

	if (!read_varint(wire, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
		return false;
	*ret_field = (uint32_t)(tag >> 3);
	*ret_type = tag & 7;
	return true;
}

static bool skip_bytes(struct wire *wire, uint64_t bytes)
{
	if (bytes > wire_bytes(*wire))
		return false;
	wire->at += bytes;
	return true;
}

/* A group ends at the END_GROUP tag of its own field number and may hold groups: `groups` is the stack of the
 * open ones. Each other type is skipped by its length. */
bool example_skip_field(struct wire *wire, uint32_t field, uint32_t type)
{
	uint32_t groups[GROUPS_MAX], depth = 0;
	struct wire ignored;
	uint64_t value;

	for (;;) {
		bool good = type == WIRE_VARINT    ? read_varint(wire, &value)
			    : type == WIRE_FIXED64 ? skip_bytes(wire, 8)
			    : type == WIRE_BYTES   ? read_bytes(wire, &ignored)
			    : type == WIRE_FIXED32 ? skip_bytes(wire, 4)
						   : type == WIRE_GROUP || type == WIRE_END_GROUP;

		if (!good)
			return false;
		if (type == WIRE_GROUP) {
			if (depth == GROUPS_MAX)
				return false;
			groups[depth++] = field;
		} else if (type == WIRE_END_GROUP && (depth == 0 || groups[--depth] != field)) {
			return false;
		}
		if (depth == 0)
			return true;
		if (!example_read_tag(wire, &field, &type))
			return false;
	}
}

/* ---- Lists ---- */

static bool store_float(struct example_row *row, const uint8_t *bits)
{
	if (row->count < values_max(row->feature))
		memcpy(row->out + row->count * sizeof(float), bits, sizeof(float));
	row->count++;
	return true;
}

static bool store_int64(struct example_row *row, uint64_t value)
{
	if (row->count < values_max(row->feature))
		memcpy(row->out + row->count * sizeof(value), &value, sizeof(value));
	row->count++;
	return true;
}

static bool store_bytes(struct example_row *row, const struct wire *value)
{
	if (is_one_value(row->feature)) {
		row->count++;
		row->found = wire_bytes(*value);
		row->misfit = !put_one_value(row->feature, row->out, *value);
		return !row->misfit;
	}
	if (wire_bytes(*value) > row->feature->bytes_max && !row->feature->truncate) {
		row->too_long = true;
		row->found = wire_bytes(*value);
		return false;
	}
	if (row->count < row->feature->elements)
		put_bytes_value(row->feature, row->out + row->count * bytes_stride(row->feature), *value);
	row->count++;
	return true;
}

static bool read_packed(struct wire packed, struct example_row *row)
{
	uint64_t bytes = wire_bytes(packed), value;

	if (row->feature->dtype == EXAMPLE_FLOAT32) {
		if (bytes % sizeof(float))
			return false;
		for (; packed.at < packed.end; packed.at += sizeof(float))
			(void)store_float(row, packed.at);
		return true;
	}
	while (packed.at < packed.end)
		if (!read_varint(&packed, &value) || !store_int64(row, value))
			return false;
	return true;
}

/* Reads the values of a FloatList, Int64List or BytesList, packed or not; skips unknown fields. */
static bool read_list(struct wire list, struct example_row *row)
{
	uint32_t dtype = row->feature->dtype;

	while (list.at < list.end) {
		uint32_t field, type;
		struct wire value;
		uint64_t number;
		bool good;

		if (!example_read_tag(&list, &field, &type))
			return false;
		if (field == LIST_VALUE && type == WIRE_BYTES)
			good = read_bytes(&list, &value) &&
			       (dtype >= EXAMPLE_BYTES ? store_bytes(row, &value) : read_packed(value, row));
		else if (field == LIST_VALUE && dtype == EXAMPLE_FLOAT32 && type == WIRE_FIXED32)
			good = skip_bytes(&list, 4) && store_float(row, list.at - 4);
		else if (field == LIST_VALUE && dtype == EXAMPLE_INT64 && type == WIRE_VARINT)
			good = read_varint(&list, &number) && store_int64(row, number);
		else
			good = example_skip_field(&list, field, type);
		if (!good)
			return false;
	}
	return true;
}

bool example_feature_kind(struct wire feature, uint32_t *ret_kind)
{
	*ret_kind = 0;
	while (feature.at < feature.end) {
		uint32_t field, type;
		struct wire list;

		if (!example_read_tag(&feature, &field, &type))
			return false;
		if (field >= FEATURE_BYTES && field <= FEATURE_INT64 && type == WIRE_BYTES) {
			if (!read_bytes(&feature, &list))
				return false;
			*ret_kind = field;
		} else if (!example_skip_field(&feature, field, type)) {
			return false;
		}
	}
	return true;
}

bool example_read_lists(struct wire feature, uint32_t kind, struct example_row *row)
{
	while (feature.at < feature.end) {
		uint32_t field, type;
		struct wire list;

		/* Results are ignored where they change nothing: example_feature_kind() has checked these
		 * bytes. */
		(void)example_read_tag(&feature, &field, &type);
		if (type != WIRE_BYTES || field < FEATURE_BYTES || field > FEATURE_INT64) {
			(void)example_skip_field(&feature, field, type);
			continue;
		}
		if (!read_bytes(&feature, &list))
			return false;
		if (field != kind)
			row->count = 0;
		else if (!read_list(list, row))
			return false;
	}
	return true;
}
