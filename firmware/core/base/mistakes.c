/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/mistakes.h"
#include "core/base/visible.h"

#include <stdarg.h>
#include <string.h>

#define MORE_BYTES 48u /* longest last line: "\n... and 4294967295 more mistakes" */

/* Adds a mistake to err->text where the whole line fits, otherwise counts it as left out. Only the first line
 * is cut instead, so that the text is never empty. */
static void note(struct mistakes *mistakes, unsigned line, const char *text)
{
	char *end = mistakes->err->text + mistakes->text_bytes;
	size_t free_bytes = ERROR_TEXT_MAX - MORE_BYTES - mistakes->text_bytes, bytes;

	mistakes->err->code = -EINVAL;
	if (mistakes->left_out == 0) {
		bytes = (size_t)snprintf(end, free_bytes, "%s%s:%u: %s", mistakes->text_bytes ? "\n" : "",
					 mistakes->file, line, text);
		if (bytes < free_bytes || mistakes->text_bytes == 0) {
			mistakes->text_bytes += bytes < free_bytes ? bytes : free_bytes - 1;
			return;
		}
	}
	mistakes->left_out++;
	(void)snprintf(end, MORE_BYTES, "\n... and %u more mistake%s", mistakes->left_out,
		       mistakes->left_out == 1 ? "" : "s");
}

void mistakes_add(struct mistakes *mistakes, unsigned line, const char *format, ...)
{
	char raw[ERROR_TEXT_MAX], text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	(void)visible(raw, text, sizeof(text));
	mistakes->count++;
	if (mistakes->hear) {
		mistakes->hear(mistakes->listener, line, text);
		return;
	}
	if (mistakes->out)
		fprintf(mistakes->out, "%s:%u: %s\n", mistakes->file, line, text);
	if (mistakes->err)
		note(mistakes, line, text);
}
