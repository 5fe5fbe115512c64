/* SPDX-License-Identifier: Apache-2.0 */
/* An unfinished run that never started, because its configuration was wrong: it has neither a plan nor a
 * checkpoint. Once kiln.conf has been changed, the mistake may be corrected, so a new run takes the place of
 * the old one. */
#pragma once

#include "core/run/run.h"

/* Returns whether a new run is to take the place of `run`: it has no plan and no checkpoint, and kiln.conf
 * (`file`) differs from its frozen configuration. */
MUST_CHECK bool unstarted_is_superseded(const char *file, const struct run *run);
/* Returns whether kiln.conf, with the overrides of the current run, differs from its frozen configuration.
 * False where a file cannot be read. */
MUST_CHECK bool unstarted_differs(const char *file);
/* Ends a run that never started: its state becomes failed, and the record gets the reason, here and in the
 * store. */
MUST_CHECK int unstarted_give_up(const struct run *run, struct error *err);
