/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next checkpoint is due, besides the end of an epoch: by steps, by time, or as often as
 * CADENCE_SHARE of the time pays for. Pure functions; time is monotonic microseconds. What they say changes
 * no bits of a run, as a snapshot changes nothing.
 */
#pragma once

#include "core/config/config.h"

/* checkpoint.auto: what checkpoints cost is at most this share of the time between them, 1 %, */
#define CADENCE_SHARE 100u
/* and this time passes between two, however little they cost: the disk is others', too. */
#define CADENCE_AUTO_LEAST_US UINT64_C(10000000)

struct cadence {
	uint64_t every_steps, every_us; /* 0 = not so */
	bool automatic;
	uint64_t taken_us; /* the last one, or the start */
	uint64_t cost_us;  /* what the last one took from training: see cadence_cost() */
};

struct cadence cadence_of(const struct config *config, uint64_t now_us);

/* A step is through: is a checkpoint due before the next? */
bool cadence_is_due(const struct cadence *cadence, uint64_t step, uint64_t now_us);
/* One was taken, for whatever reason. */
void cadence_taken(struct cadence *cadence, uint64_t now_us);
/* What it cost: the time that no step could be enqueued, and what the thread that wrote it had of the CPU or
 * of the device's queue. */
void cadence_cost(struct cadence *cadence, uint64_t stalled_us, uint64_t worked_us);
