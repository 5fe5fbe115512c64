/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/ptx.h"

#include <stdlib.h>
#include <string.h>

#define MARK_BYTES (sizeof(PTX_MARK) - 1)
#define TARGET     ".target sm_90"

/* Appends the bytes from `from` to `to` and returns the new end. */
static char *append(char *end, const char *from, const char *to)
{
	memcpy(end, from, (size_t)(to - from));
	return end + (to - from);
}

char *ptx_for_sm_90a(const char *ptx, size_t bytes)
{
	const char *const last = ptx + bytes;
	const char *target = memmem(ptx, bytes, TARGET, sizeof(TARGET) - 1);
	const char *mark = memmem(ptx, bytes, PTX_MARK, MARK_BYTES);
	char *text, *end;

	if (!target || !mark || mark < target)
		return NULL;
	text = malloc(bytes + 2);
	if (!text)
		return NULL;
	target += sizeof(TARGET) - 1;
	end = append(text, ptx, target);
	*end++ = 'a';
	for (ptx = target; mark; mark = memmem(ptx, (size_t)(last - ptx), PTX_MARK, MARK_BYTES)) {
		end = append(end, ptx, mark);
		ptx = mark + MARK_BYTES;
	}
	end = append(end, ptx, last);
	*end = 0;
	return text;
}
