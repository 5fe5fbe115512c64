/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Called between two batches, and while no batch comes: reads the operator's request and the temperatures a
 * few times a second. Makes a requested checkpoint due. Blocks while the processor or GPU is too hot, and,
 * in a run of one rank, while the run is paused; several ranks pause together (rounds.h), and rank 0 alone
 * reads the request. Errors: -ECANCELED the run must stop. */
MUST_CHECK int obey(struct train *train, struct error *err);

/* Write a checkpoint and note that the run is paused; note that it goes on. */
MUST_CHECK int pause_begin(struct train *train, struct error *err);
MUST_CHECK int pause_end(struct train *train, struct error *err);
