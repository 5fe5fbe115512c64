/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Before step 0, after batches_attach(): reads the first segment of the training split once, without
 * training, so that `normalization` layers get their statistics (model/adapt.h); then writes the checkpoint
 * of step 0 and attaches to the ring at the first batch again. Does nothing where no layer needs statistics.
 * A process that stops or dies before that checkpoint leaves nothing: the next one begins anew. Errors:
 * -ECANCELED; -EDOM a number of the data is NaN or infinite. */
MUST_CHECK int adapt(struct train *train, struct error *err);
