/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/backlog.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 512u

size_t backlog_growth(const struct backlog *backlog, size_t bytes)
{
	size_t size = backlog->size ? backlog->size : SIZE_FIRST;

	while (size < backlog->end + bytes)
		size *= 2;
	return size - backlog->size;
}

bool backlog_grow(struct backlog *backlog, size_t growth)
{
	char *data = growth ? realloc(backlog->data, backlog->size + growth) : backlog->data;

	if (!data)
		return false;
	backlog->data = data;
	backlog->size += growth;
	return true;
}

void backlog_append(struct backlog *backlog, const char *data, size_t bytes)
{
	memcpy(backlog->data + backlog->end, data, bytes);
	backlog->end += bytes;
}

void backlog_compact(struct backlog *backlog)
{
	if (!backlog->start)
		return;
	backlog->end -= backlog->start;
	memmove(backlog->data, backlog->data + backlog->start, backlog->end);
	backlog->start = 0;
}

void backlog_clear(struct backlog *backlog)
{
	free(backlog->data);
	*backlog = (struct backlog){ 0 };
}
