/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a checkpoint within an epoch is due: every so many steps, every so many minutes, or automatically, as
 * often as a fixed share of the time allows. Pure functions; time is monotonic microseconds. When checkpoints
 * are written never changes the bits of a run, because a snapshot only reads.
 */
#pragma once

#include "core/config/config.h"

/* checkpoint.auto: checkpoints cost at most 1 / CADENCE_SHARE of the time. */
#define CADENCE_SHARE 100u
/* checkpoint.auto: shortest time between two checkpoints, even if they cost almost nothing, because other
 * programs use the disk, too. */
#define CADENCE_AUTO_LEAST_US UINT64_C(10000000)

struct cadence {
	uint64_t every_steps, every_us; /* 0 = off */
	bool automatic;
	uint64_t last_us; /* time of the last checkpoint, or of the start */
	uint64_t cost_us; /* cost of the last checkpoint, see cadence_cost() */
};

struct cadence cadence_of(const struct config *config, uint64_t now_us);

/* Call after step `step`. Returns whether a checkpoint is due before the next step. */
bool cadence_is_due(const struct cadence *cadence, uint64_t step, uint64_t now_us);
/* Call when any checkpoint is started, due or not: the time to the next one counts from now. */
void cadence_started(struct cadence *cadence, uint64_t now_us);
/* Tells the cost of the last checkpoint: `stalled_us` is the time in which no step could be enqueued,
 * `worked_us` the writer thread's use of the CPU and of the device's queue. */
void cadence_cost(struct cadence *cadence, uint64_t stalled_us, uint64_t worked_us);
