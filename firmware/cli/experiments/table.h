/* SPDX-License-Identifier: Apache-2.0 */
/* Series as text and as CSV. */
#pragma once

#include "core/base/json.h"

#include <stdio.h>

/* Print a list of summaries (series_summary(), core/series/series.h): as a table or as CSV. A list of a store
 * has {id, error} for a series that cannot be read. */
void series_print_list(const cJSON *rows, FILE *out);
void series_print_list_csv(const cJSON *rows, FILE *out);

/* Print a series.json: its state, and a table of its trials, the best one first, with the settings in which
 * they differ. As CSV only the table, with every number as it is. `series`: prepared
 * (core/series/compared.h), its strings visible. Errors: -ENOMEM. */
MUST_CHECK int series_print(const cJSON *series, FILE *out, struct error *err);
MUST_CHECK int series_print_csv(const cJSON *series, FILE *out, struct error *err);
