/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the trainer's time goes. The main thread is in exactly one stage at any moment. run.json gets "time"
 * {starts, starting_s, waiting_s, training_s, evaluating_s, checkpoints_s, paused_s}: sums over all processes
 * that worked on the run. A process that was killed counts up to its last write of run.json.
 */
#pragma once

#include "core/base/json.h"
#include "core/ring/cursor.h"

#include <stdbool.h>

/* The first batches of a split compile kernels, or load them from the cache, on the device. */
#define WARM_BATCHES 2u

enum stage {
	STAGE_STARTING, /* device, model and weights are opened; first batches of a split compile kernels */
	STAGE_WAITING,  /* for a batch */
	STAGE_TRAINING,
	STAGE_EVALUATING,
	STAGE_CHECKPOINTS, /* training waits for a checkpoint */
	STAGE_PAUSED,      /* by the operator, or to cool down */
	STAGE_MAX
};

struct stages {
	enum stage now;
	uint64_t since_us, spent_us[STAGE_MAX]; /* in this process */
	double before_s[STAGE_MAX];             /* in the processes before this one */
	uint64_t starts;                        /* processes, this one included */
	unsigned done[SPLIT_MAX];               /* batches that the device has finished, up to WARM_BATCHES */
};

/* Starts in STAGE_STARTING. */
void stages_begin(struct stages *stages);
/* Adds the times that run.json has from earlier processes. */
void stages_restore(struct stages *stages, const cJSON *record);
/* Switches to `stage` and returns the stage before. */
enum stage stages_enter(struct stages *stages, enum stage stage);
/* The main thread enqueues a batch of `split`: STAGE_STARTING until the device has finished WARM_BATCHES of
 * them, then STAGE_TRAINING or STAGE_EVALUATING. */
void stages_batch(struct stages *stages, enum split split);
/* The device has finished a batch of `split`. */
void stages_batch_done(struct stages *stages, enum split split);
/* Adds the member "time". False: no memory. */
bool stages_add(struct stages *stages, cJSON *object);
