/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of learning rate schedules, with Keras's formulae. The rate is a pure function of the
 * configuration and the step. A step is a batch, also while gradients accumulate, like Keras's iterations.
 */
#pragma once

#include "core/config/config.h"

struct schedule {
	const char *name;
	/* Notes values of optimizer.* that do not fit this schedule. NULL: there is nothing to check. */
	void (*check)(const struct config *config, struct mistakes *mistakes);
	/* Returns the rate after `step` = 0, 1, ... steps; `rate` is the configured learning rate. */
	double (*rate)(const struct config *config, double rate, uint64_t step);
};

/* Returns the schedule of this name, or NULL. */
const struct schedule *schedule_find(const char *name);
const char *schedule_names(void);
/* Notes an unknown schedule, and values of keys that do not fit the schedule. unread.h notes keys that the
 * schedule does not read. */
void schedule_check(const struct config *config, struct mistakes *mistakes);

/* Returns the rate of step `step` = 0, 1, ..., including the warm-up. `own` is the default of the optimizer,
 * for a config without optimizer.learning_rate. */
double schedule_rate(const struct config *config, double own, uint64_t step);
