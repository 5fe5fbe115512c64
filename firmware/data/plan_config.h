/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of a plan and the frozen configuration of its run. Pure functions; any thread.
 *
 * Why they must be the same: buffers are sized by the configuration and filled by the plan, and a plan that
 * comes from a store may have any settings that plan_open() can read.
 */
#pragma once

#include "core/config/config.h"
#include "data/plan.h"

/* Objects that are loaded together. Their order does not depend on it: a window of objects gives its first
 * row as soon as that object is there. */
#define PLAN_WINDOW_OBJECTS 64u

/* Returns the settings of the plan that this configuration's run makes. */
struct plan_settings plan_settings_for(const struct config *config);

/* Checks that all settings of a plan are those of the configuration; `path` names the plan in the error.
 * Errors: -EBADMSG with the key, the plan's value and the configuration's. */
MUST_CHECK int plan_check_config(const struct plan *plan, const char *path, const struct config *config,
				 struct error *err);
