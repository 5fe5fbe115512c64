/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a trial in `kiln run`. */
#pragma once

#include "core/base/error.h"

/* Notes a trial that has ended in this slot. `code`: how the daemons ended. Returns EX_OK = another trial
 * follows, or an enum series_exit. Errors: the program cannot be started. */
MUST_CHECK int trial_ended(int code, struct error *err);
