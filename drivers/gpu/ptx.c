/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/ptx.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK_BYTES (sizeof(PTX_MARK) - 1)
#define DIRECTIVE  ".target"
#define TARGET     "sm_90"

/* Appends the bytes from `from` to `to` and returns the new end. */
static char *append(char *end, const char *from, const char *to)
{
	memcpy(end, from, (size_t)(to - from));
	return end + (to - from);
}

/* Returns the end of the target's name, sm_90; the letter `a` may follow. NULL: there is none. */
static const char *target_end(const char *ptx, const char *last)
{
	const char *at = memmem(ptx, (size_t)(last - ptx), DIRECTIVE, sizeof(DIRECTIVE) - 1);

	if (!at)
		return NULL;
	for (at += sizeof(DIRECTIVE) - 1; at < last && isspace((unsigned char)*at);)
		at++;
	if ((size_t)(last - at) < sizeof(TARGET) || strncmp(at, TARGET, sizeof(TARGET) - 1) != 0)
		return NULL;
	at += sizeof(TARGET) - 1;
	return isalnum((unsigned char)at[*at == 'a']) ? NULL : at;
}

int ptx_for_sm_90a(const char *ptx, size_t bytes, char **ret_text)
{
	const char *const last = ptx + strnlen(ptx, bytes), *const target = target_end(ptx, last);
	const char *mark;
	char *text, *end;

	if (!target)
		return -ENOEXEC;
	mark = memmem(target, (size_t)(last - target), PTX_MARK, MARK_BYTES);
	if (!mark)
		return -ENOENT;
	text = malloc((size_t)(last - ptx) + 2);
	if (!text)
		return -ENOMEM;
	end = append(text, ptx, target);
	if (*target != 'a')
		*end++ = 'a';
	for (ptx = target; mark; mark = memmem(ptx, (size_t)(last - ptx), PTX_MARK, MARK_BYTES)) {
		end = append(end, ptx, mark);
		ptx = mark + MARK_BYTES;
	}
	end = append(end, ptx, last);
	*end = 0;
	*ret_text = text;
	return 0;
}
