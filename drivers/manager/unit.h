/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by manager.c and run.c. Errors: those of manager.h. */
#pragma once

#include "drivers/manager/manager.h"

#define MANAGER_SERVICE   "org.freedesktop.systemd1"
#define MANAGER_INTERFACE MANAGER_SERVICE ".Manager"

/* Calls a method of systemd's manager. `mode` is NULL where the unit is the only argument; `unit` and `mode`
 * are NULL where there are no arguments. */
MUST_CHECK int manager_call(struct manager *manager, const char *method, const char *unit, const char *mode,
			    struct error *err);

/* Reads a property of a unit. `type` is sd-bus's letter for the type of *ret. Where that is a string ('s'),
 * the caller frees it. */
MUST_CHECK int unit_get(struct manager *manager, const char *unit, const char *interface, const char *name,
			char type, void *ret, struct error *err);
/* Returns 1 where the ActiveState= of a unit is `state`, else 0, or -errno. */
MUST_CHECK int unit_state_is(struct manager *manager, const char *unit, const char *state, struct error *err);
/* Returns 1 where a job of the unit is queued, else 0, or -errno. */
MUST_CHECK int unit_has_job(struct manager *manager, const char *unit, struct error *err);
