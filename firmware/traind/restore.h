/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Gives the model its first state, after batches_wait_plan(): the newest checkpoint of this run that is
 * whole; without one, the weights of RUN_START_FILE, which come from an earlier run (start_from = latest) or
 * from model.weights; without these, initial values. train->adapt is set if layers then lack statistics. */
MUST_CHECK int restore(struct train *train, struct error *err);
