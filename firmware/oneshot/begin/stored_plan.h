/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/run/run.h"
#include "drivers/store/store.h"

/* Copies the plan of a run from the store to `path`, and compares it with the SHA-256 in the record of the
 * run. `record`: name of the record in errors. Errors: -EBADMSG another plan than the record names, also
 * when it is fetched a second time; those of the store. */
MUST_CHECK int stored_plan_get(struct store *sink, const struct run *run, const char *record,
			       const char *path, struct error *err);
