/* SPDX-License-Identifier: Apache-2.0 */
/* begin --from RUN.JSON: repeats one run. */
#pragma once

#include "core/run/run.h"

/* Makes a new run with the configuration, seed, plan and start weights of the run whose run.json is `file`
 * (core/run/run.h, run_repeat()). Brings the plan and the weights from the store, and compares their SHA-256.
 * Errors: -EINVAL that run had no plan; -ENOENT something is not in the store any more. */
MUST_CHECK int repeat_begin(const char *file, struct run *ret_run, struct error *err);
