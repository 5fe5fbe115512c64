/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/html.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

static const char *reference(char character)
{
	switch (character) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return "&#39;";
	}
}

static void print_text(const char *text, FILE *out)
{
	while (*text) {
		const size_t plain = strcspn(text, "&<>\"'");

		(void)fwrite(text, 1, plain, out);
		text += plain;
		if (*text)
			fputs(reference(*text++), out);
	}
}

void html_print(FILE *out, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	while (*format) {
		const size_t plain = strcspn(format, "%");

		(void)fwrite(format, 1, plain, out);
		format += plain;
		if (!*format)
			break;
		assert(format[1] == 's');
		print_text(va_arg(arguments, const char *), out);
		format += 2;
	}
	va_end(arguments);
}
