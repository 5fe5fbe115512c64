/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/buffer.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 512u

size_t buffer_growth(const struct buffer *buffer, size_t bytes)
{
	size_t size = buffer->size ? buffer->size : SIZE_FIRST;

	while (size < buffer->end + bytes)
		size *= 2;
	return size - buffer->size;
}

bool buffer_grow(struct buffer *buffer, size_t growth)
{
	char *data = growth ? realloc(buffer->data, buffer->size + growth) : buffer->data;

	if (!data)
		return false;
	buffer->data = data;
	buffer->size += growth;
	return true;
}

void buffer_append(struct buffer *buffer, const char *data, size_t bytes)
{
	memcpy(buffer->data + buffer->end, data, bytes);
	buffer->end += bytes;
}

void buffer_compact(struct buffer *buffer)
{
	if (!buffer->start)
		return;
	buffer->end -= buffer->start;
	memmove(buffer->data, buffer->data + buffer->start, buffer->end);
	buffer->start = 0;
}

void buffer_clear(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){ 0 };
}
