/* SPDX-License-Identifier: Apache-2.0 */
/* Members of an answer that are null where the box does not know the value: every member is always there. */
#pragma once

#include "core/base/json.h"

/* null for NaN and infinities. */
void figure_number(cJSON *object, const char *key, double value);
void figure_count(cJSON *object, const char *key, bool known, uint64_t value);
/* null for NULL. */
void figure_text(cJSON *object, const char *key, const char *text);
