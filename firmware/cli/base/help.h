/* SPDX-License-Identifier: Apache-2.0 */
/* What `kiln --help` and `kiln VERB --help` print: the table of verbs as text. */
#pragma once

#include "cli/base/verb.h"

void help_print_all(const struct verb *const *verbs, FILE *out);
/* `parent` is the verb of a sub-verb, else NULL. */
void help_print(const struct verb *verb, const struct verb *parent, FILE *out);
