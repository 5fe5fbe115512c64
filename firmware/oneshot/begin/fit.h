/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the data fit the configuration of a new run, before its record freezes the configuration: without
 * this look, kiln-fetchd would find it when the run goes on, perhaps hours later.
 *
 * Only what is certain keeps a run from beginning (preflight/preflight.h). Everything else is said and the
 * run begins: the daemons have their own patience with a store that does not answer.
 */
#pragma once

#include "core/config/config.h"

/* Upper bound of the look at all sources together. A store that accepts a connection and then hangs, or sends
 * a byte a second, delays a night by this time. file:// has no bound: the kernel does not give up. */
#define FIT_LOOK_S 30u

/* Removes the table of an earlier attempt. */
void fit_forget(void);

/* Looks at the sources. Sends an event for each row of the table that failed or is a warning. Where the data
 * certainly do not fit, writes the table to RUN_UNFIT_FILE, for the report. Errors: -EBADMSG with the first
 * row that is certain. */
MUST_CHECK int fit_check(const struct config *config, struct error *err);
