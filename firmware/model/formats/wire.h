/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes protocol buffers: appends fields to a buffer of fixed size. A nested message is either written to a
 * buffer of its own and added with wire_bytes(), or written by a function that wire_message() calls twice,
 * once to count its bytes. No call fails: bytes beyond the capacity are not written but counted. So `bytes >
 * capacity` at the end means that the buffer is too small, and a wire without a buffer only counts.
 * Source: protobuf.dev/programming-guides/encoding.
 */
#pragma once

#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

struct wire {
	uint8_t *data;
	uint64_t capacity;
	uint64_t bytes; /* size of all fields so far, also beyond capacity */
};

/* Appends a field of type int32, int64, uint64, bool or enum. A negative number takes ten bytes. */
void wire_varint(struct wire *wire, uint32_t field, uint64_t value);
void wire_double(struct wire *wire, uint32_t field, double value);
void wire_float(struct wire *wire, uint32_t field, float value);
/* Appends a field of type bytes, or a nested message. */
void wire_bytes(struct wire *wire, uint32_t field, const void *data, uint64_t bytes);
void wire_string(struct wire *wire, uint32_t field, const char *text);
/* Appends a nested message. Calls `fill` twice with `context`: first to count the bytes of the message, then
 * to write them. */
void wire_message(struct wire *wire, uint32_t field, void (*fill)(struct wire *wire, const void *context),
		  const void *context);
