/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln run --config FILE`: a night in the foreground: one run or, where the file has trials, a whole series.
 * What a killed process left unfinished goes on. */
#pragma once

#include "core/base/error.h"

/* Returns EX_OK once the run or the series has ended well, and its outputs are in the store; else an exit
 * code: that of a program which has said why, or EX_TEMPFAIL where the run or the series was stopped or
 * waits. Errors: a program cannot be started. */
MUST_CHECK int night_run(const char *config, struct error *err);
