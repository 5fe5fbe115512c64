/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/wire.h"

#include "data/varint.h"

#include <string.h>

static void append(struct wire *wire, const void *data, uint64_t bytes)
{
	if (wire->bytes <= wire->capacity && bytes <= wire->capacity - wire->bytes && bytes)
		memcpy(wire->data + wire->bytes, data, bytes);
	wire->bytes += bytes;
}

static void append_varint(struct wire *wire, uint64_t value)
{
	uint8_t byte[VARINT_BYTES_MAX];

	append(wire, byte, varint_write(byte, value));
}

static void append_tag(struct wire *wire, uint32_t field, enum wire_type type)
{
	append_varint(wire, (uint64_t)field << 3 | type);
}

void wire_varint(struct wire *wire, uint32_t field, uint64_t value)
{
	append_tag(wire, field, WIRE_VARINT);
	append_varint(wire, value);
}

static void append_fixed(struct wire *wire, uint64_t bits, uint32_t bytes)
{
	uint8_t byte[8];

	for (uint32_t i = 0; i < bytes; i++)
		byte[i] = (uint8_t)(bits >> 8 * i);
	append(wire, byte, bytes);
}

void wire_double(struct wire *wire, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	append_tag(wire, field, WIRE_FIXED64);
	append_fixed(wire, bits, sizeof(bits));
}

void wire_float(struct wire *wire, uint32_t field, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	append_tag(wire, field, WIRE_FIXED32);
	append_fixed(wire, bits, sizeof(bits));
}

void wire_bytes(struct wire *wire, uint32_t field, const void *data, uint64_t bytes)
{
	append_tag(wire, field, WIRE_LENGTH);
	append_varint(wire, bytes);
	append(wire, data, bytes);
}

void wire_string(struct wire *wire, uint32_t field, const char *text)
{
	wire_bytes(wire, field, text, strlen(text));
}

void wire_message(struct wire *wire, uint32_t field, void (*fill)(struct wire *wire, const void *context),
		  const void *context)
{
	struct wire count = { 0 };

	fill(&count, context);
	append_tag(wire, field, WIRE_LENGTH);
	append_varint(wire, count.bytes);
	fill(wire, context);
}
