/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of one client on their way in or out. All buffers together have one budget, CONTROL_BUFFERS_MAX,
 * which the caller holds: many slow clients must not cost the box its memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer {
	char *data;
	size_t size;       /* bytes of memory */
	size_t start, end; /* the bytes in it; those before `start` are done with */
};

static inline size_t buffer_bytes(const struct buffer *buffer)
{
	return buffer->end - buffer->start;
}

/* Bytes of memory that must be added before `bytes` more fit. */
size_t buffer_growth(const struct buffer *buffer, size_t bytes);
/* Adds `growth` bytes of memory. False: no memory. */
bool buffer_grow(struct buffer *buffer, size_t growth);
/* Appends what buffer_growth() made fit. */
void buffer_append(struct buffer *buffer, const char *data, size_t bytes);
/* Moves the bytes to the beginning of the memory. */
void buffer_compact(struct buffer *buffer);
/* Frees the memory; the buffer is empty then. */
void buffer_clear(struct buffer *buffer);
