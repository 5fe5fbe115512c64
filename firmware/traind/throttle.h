/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses between steps while the processor or the GPU is too hot (drivers/sensors/heat.h), and stops the run
 * with a checkpoint if one of them reaches its critical temperature. Main thread only.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

struct heat;
struct train;

/* The longest pause between two steps: a run makes progress however hot it is. */
#define THROTTLE_MAX_S 5u

/* A spell is a series of pauses with little time between them. */
struct throttle {
	struct heat *heat;
	uint64_t paused_us; /* time paused in this spell; 0 = there is no spell */
	uint64_t hot_us;    /* when the last pause of this spell ended */
	uint64_t said_us;   /* time of the last event about a spell; 0 = none yet */
};

MUST_CHECK int throttle_open(struct train *train, struct error *err);
void throttle_close(struct train *train);
/* Blocks while the processor or GPU is too hot, at most THROTTLE_MAX_S, or until the operator wants
 * something. Errors: -ECANCELED the run stops, because a temperature is critical or the operator asked. */
MUST_CHECK int throttle(struct train *train, struct error *err);
