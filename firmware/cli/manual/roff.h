/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a manual page in the language of man(7): a title, then sections, groups, paragraphs, items and
 * examples, in the order in which the page is read.
 *
 * Texts are plain UTF-8. A word in `backquotes` becomes bold; every character that man(7) would take for a
 * command of its own is escaped. The functions write to `out` alone, keep no state and cannot fail: an error
 * of the stream stays in the stream (ferror(3)).
 */
#pragma once

#include "core/base/cleanup.h"

#include <stdio.h>

/* The head of a page and its section NAME: "NAME - SUMMARY". `section`: "1", "5", "7" or "8". */
void roff_title(FILE *out, const char *name, const char *section, const char *summary);
/* A section, such as "OPTIONS", and a group of items inside a section. */
void roff_section(FILE *out, const char *heading);
void roff_group(FILE *out, const char *heading);
/* A paragraph of one phrase, as the tables have them: "show the run" becomes "Show the run." */
void roff_sentence(FILE *out, const char *phrase);
void roff_paragraph(FILE *out, const char *format, ...) PRINTF(2, 3);
/* Print one line of the synopsis, and one item of a list: its bold tag, then its text. */
void roff_synopsis(FILE *out, const char *line);
void roff_item(FILE *out, const char *tag, const char *format, ...) PRINTF(3, 4);
/* A paragraph that belongs to the item before it. */
void roff_item_more(FILE *out, const char *format, ...) PRINTF(2, 3);
/* Lines that are printed as they stand. */
void roff_example(FILE *out, const char *text);
/* The section SEE ALSO: names of pages, such as "kiln(1)", with ", " between them. */
void roff_see_also(FILE *out, const char *pages);
