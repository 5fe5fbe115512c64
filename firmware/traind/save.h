/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when a checkpoint is written: after steps or time (model/learn/cadence.h), on the operator's
 * request, at the end of an epoch, and when the run stops or pauses. Main thread only; writer.h writes the
 * file.
 *
 * No checkpoint is newer than the run record: metrics are written first, and while they cannot be written
 * there is no checkpoint. Otherwise a crash would lose the metrics of epochs that are never trained again.
 */
#pragma once

#include "core/base/error.h"
#include "model/learn/cadence.h"

struct train;

struct save {
	struct cadence cadence;
	bool due;            /* write a checkpoint before the next batch */
	uint64_t skipped;    /* checkpoints left out because the writer thread was busy */
	uint64_t stalled_us; /* how long training waited for the last checkpoint */
};

void save_open(struct train *train);
/* Called after a training step: decides whether a checkpoint is due. */
void save_after_step(struct train *train);
/* Returns whether a checkpoint is due and can be written now, and forgets it: in a run of several ranks,
 * which write it together. */
bool save_take_due(struct train *train);
/* Called before the next batch changes the weights: writes a checkpoint if one is due. */
MUST_CHECK int save_if_due(struct train *train, struct error *err);
/* Makes a snapshot of this step, which the writer thread writes. Does nothing if the disk has a checkpoint of
 * this step, or while layers wait for their statistics. While the writer thread is busy: waits if `wait`,
 * else skips the checkpoint and counts it. A file that cannot be written is logged and training goes on. */
MUST_CHECK int save_checkpoint(struct train *train, bool wait, struct error *err);
/* Writes the finished model. Blocks until the file is on the disk. */
MUST_CHECK int save_model(struct train *train, struct error *err);
