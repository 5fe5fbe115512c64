/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/tfevents_read.h"

#include "data/example_wire.h"

/* tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE = 2 };

/* One field of a message. `number`: of a varint; `bytes`: of a field with a length, or of fixed size. */
struct field {
	uint64_t key, number;
	struct wire bytes;
};

static bool take(struct wire *wire, uint64_t count, struct wire *ret)
{
	if (count > wire_bytes(*wire))
		return false;
	ret->at = wire->at;
	ret->end = wire->at += count;
	return true;
}

static bool next_field(struct wire *wire, struct field *ret)
{
	uint64_t key;

	if (!read_varint(wire, &key))
		return false;
	ret->key = key >> 3;
	switch (key & 7) {
	case WIRE_VARINT:
		return read_varint(wire, &ret->number);
	case WIRE_FIXED64:
		return take(wire, 8, &ret->bytes);
	case WIRE_BYTES:
		return read_bytes(wire, &ret->bytes);
	case WIRE_FIXED32:
		return take(wire, 4, &ret->bytes);
	default:
		return false;
	}
}

/* Copies a field of fixed size, where it has this size. */
static void copy(const struct field *field, void *out, size_t size)
{
	if (wire_bytes(field->bytes) == size)
		memcpy(out, field->bytes.at, size);
}

static bool read_value(struct wire value, struct tfevents_point *point)
{
	__auto_type scalar = &point->scalar[point->count];
	bool simple = false, named = false;
	struct field field = { 0 };

	if (point->count == TFEVENTS_SCALARS_MAX)
		return true;
	while (wire_bytes(value) > 0) {
		if (!next_field(&value, &field))
			return false;
		if (field.key == VALUE_TAG && wire_bytes(field.bytes) <= TFEVENTS_TAG_MAX) {
			memcpy(scalar->tag, field.bytes.at, wire_bytes(field.bytes));
			scalar->tag[wire_bytes(field.bytes)] = '\0';
			named = true;
		} else if (field.key == VALUE_SIMPLE) {
			copy(&field, &scalar->value, sizeof(scalar->value));
			simple = true;
		}
	}
	point->count += simple && named;
	return true;
}

static bool read_summary(struct wire summary, struct tfevents_point *point)
{
	struct field field = { 0 };

	while (wire_bytes(summary) > 0)
		if (!next_field(&summary, &field) ||
		    (field.key == SUMMARY_VALUE && !read_value(field.bytes, point)))
			return false;
	return true;
}

int tfevents_read(const void *event, uint64_t bytes, struct tfevents_point *ret_point)
{
	struct wire wire = { event, (const uint8_t *)event + bytes };
	struct field field = { 0 };

	*ret_point = (struct tfevents_point){ 0 };
	while (wire_bytes(wire) > 0) {
		if (!next_field(&wire, &field))
			return -EBADMSG;
		if (field.key == EVENT_WALL_TIME)
			copy(&field, &ret_point->wall_s, sizeof(ret_point->wall_s));
		else if (field.key == EVENT_STEP)
			ret_point->step = field.number;
		else if (field.key == EVENT_SUMMARY && !read_summary(field.bytes, ret_point))
			return -EBADMSG;
	}
	return (int)ret_point->count;
}
