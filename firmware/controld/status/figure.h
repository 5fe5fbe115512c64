/* SPDX-License-Identifier: Apache-2.0 */
/* Adds members to an answer, with null for a value that the box does not know: every member is always
 * present. */
#pragma once

#include "core/base/json.h"

/* Adds null for NaN and infinities. */
void figure_number(cJSON *object, const char *key, double value);
void figure_count(cJSON *object, const char *key, bool known, uint64_t value);
/* Adds null for NULL. */
void figure_text(cJSON *object, const char *key, const char *text);
