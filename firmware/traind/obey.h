/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

struct train;

/* Called between two batches, and while no batch comes: reads the operator's request and the temperatures a
 * few times a second. Makes a requested checkpoint due; blocks while the run is paused or the processor or
 * GPU is too hot. Errors: -ECANCELED the run must stop. */
MUST_CHECK int obey(struct train *train, struct error *err);
