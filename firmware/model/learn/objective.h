/* SPDX-License-Identifier: Apache-2.0 */
/* The metric that runs are compared by: promote.objective and promote.direction. Pure functions of a loaded
 * configuration. */
#pragma once

#include "core/config/config.h"

/* Returns the metric, never OBJECTIVE_AUTO: an empty objective is the accuracy of the validation, or its loss
 * where model.loss has no accuracy. */
enum config_objective objective_of(const struct config *config);
/* Returns the text of the metric, such as "validation.accuracy". */
const char *objective_text(const struct config *config);
/* Returns whether a larger value of the metric is better. */
bool objective_maximizes(const struct config *config);
/* Notes a mistake where no run of this configuration has the metric: the loss has no accuracy, or there are
 * no validation or test shards, or the trials of a halving are compared before their test. Only where the
 * file gives promote.objective, `experiments` or `vary`. Also where promote.against is "champion" without
 * test shards. */
void objective_check(const struct config *config, struct mistakes *mistakes);
