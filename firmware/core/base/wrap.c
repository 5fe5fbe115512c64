/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/wrap.h"

#include <stdbool.h>
#include <string.h>

void wrap_print(const char *text, size_t at, const char *next, size_t width, FILE *out)
{
	bool first = true;

	while (*text) {
		const size_t bytes = strcspn(text, " ");

		if (!first && at + 1 + bytes > width) {
			fprintf(out, "\n%s", next);
			at = strlen(next);
			first = true;
		}
		fprintf(out, "%s%.*s", first ? "" : " ", (int)bytes, text);
		at += bytes + !first;
		first = false;
		text += bytes;
		text += strspn(text, " ");
	}
	(void)fputc('\n', out);
}
