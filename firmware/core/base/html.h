/* SPDX-License-Identifier: Apache-2.0 */
/* Writes HTML. Text from outside goes through html_print(), so that no character of it has a meaning for the
 * browser. Hidden characters stay (core/base/visible.h). */
#pragma once

#include "core/base/cleanup.h"

#include <stdio.h>

/* Prints a piece of a page. `format` is HTML; each %s in it, between tags or in an attribute in quotes, is
 * replaced by the next argument as plain text. No other conversion may occur. */
void html_print(FILE *out, const char *format, ...) PRINTF(2, 3);
