/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens after an epoch, depending on its loss and metrics: save the best weights, lower the learning
 * rate, end training early (model/learn/callbacks.h decides). Main thread only.
 */
#pragma once

#include "core/base/error.h"
#include "model/formats/safetensors.h"

struct train;

/* Reads the state of the callbacks from a checkpoint; `path` names the file in errors. Errors: -EBADMSG. */
MUST_CHECK int epochs_restore(struct train *train, const char *path, const struct safetensors *file,
			      struct error *err);
/* Called when an epoch and its validation have ended. *ret_stop: training is over, and the model's cursor is
 * already after the last epoch, so the caller attaches to the ring again. Blocks until the writer thread is
 * idle. */
MUST_CHECK int epochs_end(struct train *train, uint64_t epoch, bool *ret_stop, struct error *err);
/* Called when training is over: loads the final weights into the model, those of the best epoch or the moving
 * average. Further calls change nothing. */
MUST_CHECK int epochs_finish(struct train *train, struct error *err);
