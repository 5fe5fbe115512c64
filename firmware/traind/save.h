/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a checkpoint is written: by steps or time (model/learn/cadence.h), on the operator's request, at the
 * end of an epoch, and when the run comes to rest. Main thread only; writer.h does the writing.
 *
 * No checkpoint is ahead of the record: figures are written first, and while they cannot be written there is
 * no checkpoint. Otherwise a crash would lose figures of epochs that are never trained again.
 */
#pragma once

#include "core/base/error.h"
#include "model/learn/cadence.h"

struct train;

struct save {
	struct cadence cadence;
	bool due;            /* before the next batch */
	uint64_t skipped;    /* checkpoints left out because the writer thread was busy */
	uint64_t stalled_us; /* how long the last checkpoint held up the main thread */
};

void save_open(struct train *train);
/* After a training step: decides whether a checkpoint is due. */
void save_after_step(struct train *train);
/* Before the next batch changes the weights: writes a checkpoint if one is due. */
MUST_CHECK int save_if_due(struct train *train, struct error *err);
/* Makes a snapshot of this step and lets the writer thread write it. Does nothing if the disk has this step,
 * or while layers wait for their statistics. While the thread is busy: waits if `wait`, else skips and
 * counts. A file that cannot be written is logged and training goes on. */
MUST_CHECK int save_checkpoint(struct train *train, bool wait, struct error *err);
/* Writes the finished model. Blocks until it is on the disk. */
MUST_CHECK int save_model(struct train *train, struct error *err);
