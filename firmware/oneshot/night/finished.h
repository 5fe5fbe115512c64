/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

/* Does what follows the rest of a run (oneshot_finished()); `power`: power.when_finished, too.
 * Blocks: for power.upload_wait_min, and until the report is made. */
MUST_CHECK int finished_rest(bool power, struct error *err);
