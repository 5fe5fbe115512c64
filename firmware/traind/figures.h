/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the model's metrics for the event files and run.json, and tells which errors of writing metrics do
 * not stop a run.
 */
#pragma once

#include "model/model.h"

/* Calls model_metrics(). Also caches the compiled kernels for the next start; a cache that cannot be written
 * is logged. Blocks: waits for the device. */
MUST_CHECK int figures_get(struct model *model, struct model_metrics *ret_metrics, struct error *err);

/* Returns whether metrics cannot be written because a disk is full or broken: training goes on, and they are
 * written later. */
bool figures_may_wait(int r);
