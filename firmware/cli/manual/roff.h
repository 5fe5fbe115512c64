/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a manual page in the language of man(7): a title, then sections, groups, paragraphs, items and
 * examples, in the order in which the page is read.
 *
 * Texts are plain UTF-8. A word in `backquotes` becomes bold; every character that has a special meaning in
 * man(7) is escaped. The functions only write to `out` and have no state. They return no error: the caller
 * checks ferror(out) at the end.
 */
#pragma once

#include "core/base/cleanup.h"

#include <stdio.h>

/* Writes the head of a page, then its section NAME: "NAME - SUMMARY". `section`: the section of the manual,
 * "1", "5", "7" or "8". */
void roff_title(FILE *out, const char *name, const char *section, const char *summary);
/* Begin a section, such as "OPTIONS", or a group of items inside a section. */
void roff_section(FILE *out, const char *heading);
void roff_group(FILE *out, const char *heading);
/* Writes a phrase of a table as a paragraph with a capital letter and a full stop: "show the run" becomes
 * "Show the run." */
void roff_sentence(FILE *out, const char *phrase);
void roff_paragraph(FILE *out, const char *format, ...) PRINTF(2, 3);
/* Write one line of the synopsis, or one item of a list: a tag in bold, then the text. */
void roff_synopsis(FILE *out, const char *line);
void roff_item(FILE *out, const char *tag, const char *format, ...) PRINTF(3, 4);
/* Writes a further paragraph of the last item. */
void roff_item_more(FILE *out, const char *format, ...) PRINTF(2, 3);
/* Ends the indentation of a list of items, for text that follows and is not of the list. */
void roff_items_end(FILE *out);
/* Writes lines without any formatting. */
void roff_example(FILE *out, const char *text);
/* Writes the section SEE ALSO. `pages`: names such as "kiln(1)", separated by ", ". */
void roff_see_also(FILE *out, const char *pages);
