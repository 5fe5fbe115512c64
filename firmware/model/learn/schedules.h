/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of learning rate schedules, Keras's by name: the rate is a function of the configuration and the
 * step alone. A step is a batch, also while gradients accumulate, as Keras counts its iterations.
 */
#pragma once

#include "core/config/config.h"

struct schedule {
	const char *name;
	/* Note what the keys of optimizer.* have against it. May be NULL. */
	void (*check)(const struct config *config, struct mistakes *mistakes);
	/* The rate behind `step` = 0, 1, ... steps; `rate`: what learning_rate gives. */
	double (*rate)(const struct config *config, double rate, uint64_t step);
};

/* NULL: no such schedule. */
const struct schedule *schedule_find(const char *name);
const char *schedule_names(void);
/* Unknown names, and what a schedule has against its keys; those that it does not read: unread.h. */
void schedule_check(const struct config *config, struct mistakes *mistakes);

/* The rate of the step behind `step` others, the warm-up included; `own`: the optimizer's, where the config
 * gives none. */
double schedule_rate(const struct config *config, double own, uint64_t step);
