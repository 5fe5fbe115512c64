/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manual/roff.h"

#include "core/base/version.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Writes a character so that man(7) prints it as it is. "." and "'" are special at the start of a line, "\"
 * everywhere; "\-" prints the minus sign that a reader can copy. */
static void put(FILE *out, char c, bool starts_line)
{
	if (starts_line && (c == '.' || c == '\''))
		fputs("\\&", out);
	if (c == '\\')
		fputs("\\e", out);
	else if (c == '-')
		fputs("\\-", out);
	else
		fputc(c, out);
}

static void put_text(FILE *out, const char *text)
{
	bool bold = false, starts_line = true;

	for (; *text; text++) {
		if (*text == '`') {
			bold = !bold;
			fputs(bold ? "\\fB" : "\\fR", out);
		} else {
			put(out, *text, starts_line);
		}
		starts_line = *text == '\n';
	}
	fputc('\n', out);
}

static void put_format(FILE *out, const char *format, va_list args)
{
	char *text = NULL;

	/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the caller gives the format */
	if (vasprintf(&text, format, args) < 0)
		return;
	put_text(out, text);
	free(text);
}

void roff_title(FILE *out, const char *name, const char *section, const char *summary)
{
	fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n"
	      ".\\\" Written by `kiln manual` from the tables that the programs read. Change the tables.\n",
	      out);
	fprintf(out, ".TH \"%s\" \"%s\" \"\" \"Kiln %s\" \"Kiln\"\n.ad l\n.nh\n.SH NAME\n", name, section,
		KILN_VERSION);
	put_text(out, name);
	fputs("\\- ", out);
	put_text(out, summary);
}

void roff_section(FILE *out, const char *heading)
{
	fputs(".SH ", out);
	put_text(out, heading);
}

void roff_group(FILE *out, const char *heading)
{
	fputs(".SS ", out);
	put_text(out, heading);
}

void roff_paragraph(FILE *out, const char *format, ...)
{
	va_list args;

	fputs(".PP\n", out);
	va_start(args, format);
	put_format(out, format, args);
	va_end(args);
}

void roff_sentence(FILE *out, const char *phrase)
{
	roff_paragraph(out, "%c%s.", toupper((unsigned char)*phrase), *phrase ? phrase + 1 : "");
}

void roff_synopsis(FILE *out, const char *line)
{
	fputs(".nf\n", out);
	put_text(out, line);
	fputs(".fi\n", out);
}

void roff_item(FILE *out, const char *tag, const char *format, ...)
{
	va_list args;

	fputs(".TP\n.B ", out);
	put_text(out, tag);
	va_start(args, format);
	put_format(out, format, args);
	va_end(args);
}

void roff_item_more(FILE *out, const char *format, ...)
{
	va_list args;

	fputs(".br\n", out);
	va_start(args, format);
	put_format(out, format, args);
	va_end(args);
}

void roff_items_end(FILE *out)
{
	fputs(".PP\n", out);
}

void roff_example(FILE *out, const char *text)
{
	fputs(".PP\n.RS 4\n.nf\n", out);
	put_text(out, text);
	fputs(".fi\n.RE\n", out);
}

void roff_see_also(FILE *out, const char *pages)
{
	roff_section(out, "SEE ALSO");
	put_text(out, pages);
}
