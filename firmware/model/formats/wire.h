/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, the writing half: fields appended to a buffer of fixed size. A nested message is written
 * to a buffer of its own, then added with wire_bytes(), or by a function that wire_message() calls twice.
 * Nothing fails: what does not fit is not written, and `bytes` goes on counting, so that `bytes > capacity`
 * tells in the end, and a wire without a buffer counts.
 * Source: protobuf.dev/programming-guides/encoding.
 */
#pragma once

#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

struct wire {
	uint8_t *data;
	uint64_t capacity;
	uint64_t bytes; /* written, or wanted when more than capacity */
};

/* int32, int64, uint64, bool and enum fields; a negative number takes ten bytes. */
void wire_varint(struct wire *wire, uint32_t field, uint64_t value);
void wire_double(struct wire *wire, uint32_t field, double value);
void wire_float(struct wire *wire, uint32_t field, float value);
/* string, bytes and nested messages. */
void wire_bytes(struct wire *wire, uint32_t field, const void *data, uint64_t bytes);
void wire_string(struct wire *wire, uint32_t field, const char *text);
/* A nested message, which `fill` writes: first to a wire that counts, then to this one. */
void wire_message(struct wire *wire, uint32_t field, void (*fill)(struct wire *wire, const void *context),
		  const void *context);
