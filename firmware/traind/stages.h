/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how the trainer spends its time. The main thread is in exactly one stage at any moment. run.json
 * gets "time" {starts, starting_s, waiting_s, training_s, evaluating_s, checkpoints_s, paused_s}: sums over
 * all processes that worked on the run. A process that was killed counts until its last write of run.json.
 */
#pragma once

#include "core/base/json.h"
#include "core/ring/cursor.h"

#include <stdbool.h>

/* The first batches of a split compile kernels on the device, or load them from the cache. */
#define WARM_BATCHES 2u

enum stage {
	/* opening the device, the model and the weights; the first batches of a split, which compile
	 * kernels */
	STAGE_STARTING,
	STAGE_WAITING, /* waiting for a batch */
	STAGE_TRAINING,
	STAGE_EVALUATING,
	STAGE_CHECKPOINTS, /* training waits for a checkpoint to be written */
	STAGE_PAUSED,      /* paused by the operator, or to cool down */
	STAGE_MAX
};

struct stages {
	enum stage now;
	uint64_t since_us, spent_us[STAGE_MAX]; /* times of this process */
	double before_s[STAGE_MAX];             /* times of earlier processes */
	uint64_t starts;          /* number of processes that worked on the run, this one included */
	unsigned done[SPLIT_MAX]; /* batches that the device has finished, up to WARM_BATCHES */
};

/* Starts in STAGE_STARTING. */
void stages_begin(struct stages *stages);
/* Adds the times of earlier processes from run.json. */
void stages_restore(struct stages *stages, const cJSON *record);
/* Switches to `stage` and returns the stage before. */
enum stage stages_enter(struct stages *stages, enum stage stage);
/* Called when the main thread enqueues a batch of `split`: enters STAGE_STARTING until the device has
 * finished WARM_BATCHES batches of the split, then STAGE_TRAINING or STAGE_EVALUATING. */
void stages_batch(struct stages *stages, enum split split);
/* Called when the device has finished a batch of `split`. */
void stages_batch_done(struct stages *stages, enum split split);
/* Adds the member "time" to `object`. False: no memory. */
bool stages_add(struct stages *stages, cJSON *object);
