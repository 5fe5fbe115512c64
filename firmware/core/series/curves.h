/* SPDX-License-Identifier: Apache-2.0 */
/* The curves of two runs, epoch by epoch, for difference_of() (core/series/difference.h). No threads, no
 * state. */
#pragma once

#include "core/series/objective.h"

/* Finds by which figure of an epoch two runs are compared: that of promote.objective, if both have one;
 * else the first of validation.accuracy, validation.loss, train.accuracy and train.loss that both have.
 * `settings`: settings_of() of one of the runs; NULL = not known. Returns false where both have no figure. */
bool curves_objective(const cJSON *settings, const cJSON *epochs_a, const cJSON *epochs_b,
		      struct objective *ret_objective);

/* Adds the members "parts" and "compared". Returns false where memory is short. */
bool curves_add_parting(cJSON *out, const cJSON *epochs_a, const cJSON *epochs_b);

/* Adds the members "gap" and "ahead". Returns false where memory is short. */
bool curves_add_race(cJSON *out, const struct objective *objective, const cJSON *epochs_a,
		     const cJSON *epochs_b);
