/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

/* Does what follows the end of a run (see oneshot_finished()). `trials`: the next trial of a series is
 * started. Does what power.when_finished says only where `power` is true. Blocks: for up to
 * power.upload_wait_min, and until the report is made. */
MUST_CHECK int finished_rest(bool trials, bool power, struct error *err);
