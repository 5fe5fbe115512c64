/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Gives the model its first state, after batches_wait_plan(): the newest undamaged checkpoint of this run.
 * Without a checkpoint: the weights in RUN_START_FILE, which come from an earlier run (start_from = latest)
 * or from model.weights. Without these: initial values. Sets train->adapt if layers then lack statistics. */
MUST_CHECK int restore(struct train *train, struct error *err);
