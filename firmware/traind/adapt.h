/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Computes the statistics of `normalization` layers (model/adapt.h). Called before step 0, after
 * batches_attach(): reads the first segment of the training split once, without training; then writes the
 * checkpoint of step 0 and attaches to the ring at the first batch again. Does nothing if no layer needs
 * statistics. A process that stops or dies before that checkpoint leaves nothing: the next process begins
 * anew. Errors: -ECANCELED; -EDOM a number of the data is NaN or infinite. */
MUST_CHECK int adapt(struct train *train, struct error *err);
