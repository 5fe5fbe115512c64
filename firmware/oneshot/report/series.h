/* SPDX-License-Identifier: Apache-2.0 */
/* The series in the report of a night: its member "series" (core/box/reports.h), and its words. */
#pragma once

#include "core/base/json.h"

#include <stddef.h>

/* Loads a series; `id` NULL or "" = none. The caller frees it. NULL: there is none, or it cannot be read. */
cJSON *report_series_load(const char *id);

/* Makes the member "series" from a series.json. The caller frees it. NULL: no memory. */
cJSON *report_series_of(const cJSON *series);

/* Writes the sentence about a series, from its member: "t-series-1: finished, 4 trials, 1 failed, adam won
 * with validation accuracy 91.20 %, the champion stays". `outcome`: that of the night, which counts where the
 * night was halted or did not start. Returns how many bytes it wrote, at most `size` - 1. */
size_t report_series_sentence(const cJSON *member, const char *outcome, char *out, size_t size);
