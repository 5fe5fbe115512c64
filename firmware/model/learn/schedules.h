/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of learning rate schedules, with Keras's formulae. The rate is a pure function of the
 * configuration and the step. A step is a batch, also while gradients accumulate, like Keras's iterations.
 */
#pragma once

#include "core/config/config.h"

struct schedule {
	const char *name;
	/* Notes keys of optimizer.* that do not fit this schedule. May be NULL. */
	void (*check)(const struct config *config, struct mistakes *mistakes);
	/* Returns the rate after `step` = 0, 1, ... steps; `rate` is the configured learning rate. */
	double (*rate)(const struct config *config, double rate, uint64_t step);
};

/* Returns NULL if there is no such schedule. */
const struct schedule *schedule_find(const char *name);
const char *schedule_names(void);
/* Notes an unknown schedule and keys that do not fit it. unread.h notes keys that the schedule does not read.
 */
void schedule_check(const struct config *config, struct mistakes *mistakes);

/* Returns the rate of the step that `step` others precede, with the warm-up. `own` is the optimizer's
 * default, for a config without optimizer.learning_rate. */
double schedule_rate(const struct config *config, double own, uint64_t step);
