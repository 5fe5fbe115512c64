/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acts on the figures of an epoch: saves the best weights, lowers the learning rate, ends training early
 * (model/learn/callbacks.h decides). Main thread only.
 */
#pragma once

#include "core/base/error.h"
#include "model/formats/safetensors.h"

struct train;

/* Reads the state from a checkpoint; `path` names the file in errors. Errors: -EBADMSG. */
MUST_CHECK int epochs_restore(struct train *train, const char *path, const struct safetensors *file,
			      struct error *err);
/* An epoch has ended, its validation included. *ret_stop: training is over, and the model's cursor is already
 * after the last epoch, so the caller attaches to the ring again. Blocks until the writer thread is
 * idle. */
MUST_CHECK int epochs_end(struct train *train, uint64_t epoch, bool *ret_stop, struct error *err);
/* Training is over: the model gets its final weights, those of the best epoch or the moving average. Further
 * calls change nothing. */
MUST_CHECK int epochs_finish(struct train *train, struct error *err);
