/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Trains until the run's end. Returns 0 once the model is on the disk and the run is RUN_FINISHED. Errors:
 * -ECANCELED the run must stop, or has ended its rung (core/run/run.h, rest_after_epoch), with a checkpoint
 * of this step; want.rest is the state that the run then gets. Other errors: training is impossible. */
MUST_CHECK int loop_run(struct train *train, struct error *err);
