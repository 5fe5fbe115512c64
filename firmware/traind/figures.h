/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model's metrics, as the event files and run.json get them, and the errors of writing figures that do
 * not stop a run.
 */
#pragma once

#include "model/model.h"

/* model_metrics(). Also caches the compiled kernels for the next start; a cache that cannot be written is
 * logged. Blocks: waits for the device. */
MUST_CHECK int figures_get(struct model *model, struct model_metrics *ret_metrics, struct error *err);

/* Whether an error of writing figures comes from a disk that is full or broken: training goes on, and the
 * figures are written later. */
bool figures_may_wait(int r);
