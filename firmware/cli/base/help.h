/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of verbs as text: `kiln --help` and `kiln VERB --help`. */
#pragma once

#include "cli/base/verb.h"

/* Writes which values an option accepts: " (1 .. 256)", " (one of a, b)", or "" where every value is
 * accepted. */
void help_allowed(const struct verb_option *option, char *out, size_t size);
void help_print_all(const struct verb *const *verbs, FILE *out);
/* `parent`: the verb to which the sub-verb `verb` belongs; NULL where `verb` is no sub-verb. */
void help_print(const struct verb *verb, const struct verb *parent, FILE *out);
