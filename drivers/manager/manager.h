/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we ask of systemd's manager (org.freedesktop.systemd1), over the system bus. Only root may change
 * anything there. Each call waits for the answer, at most MANAGER_WAIT_S; a job that was queued is not waited
 * for.
 *
 * Errors of all: -ENOTCONN and the like without a bus; else what systemd said, as text.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define MANAGER_WAIT_S 20u

struct manager;

MUST_CHECK int manager_open(struct manager **ret_manager, struct error *err);
void manager_closep(struct manager **manager);

/* Queue a unit's start or stop. Starting what runs, or stopping what does not, is no error. */
MUST_CHECK int manager_start(struct manager *manager, const char *unit, struct error *err);
MUST_CHECK int manager_stop(struct manager *manager, const char *unit, struct error *err);
/* Start a unit and wait for the end of that: of a oneshot, until it has done its work, however that went.
 * -ETIMEDOUT after `wait_s`; it goes on then. */
MUST_CHECK int manager_run(struct manager *manager, const char *unit, uint64_t wait_s, struct error *err);
/* Whether it works, starts or stops, or is to. A unit that is not there does none of it. */
MUST_CHECK int manager_is_busy(struct manager *manager, const char *unit, bool *ret_busy, struct error *err);
/* Whether an update is fetched or installed, or waits for its restart. */
MUST_CHECK int manager_update_is_busy(struct manager *manager, bool *ret_busy, struct error *err);
/* Queue the start of poweroff.target, reboot.target or suspend.target; no other job takes its place. */
MUST_CHECK int manager_power(struct manager *manager, const char *target, struct error *err);
/* Forget a unit's failure and its count of restarts; a unit that is not loaded has none. */
MUST_CHECK int manager_reset_failed(struct manager *manager, const char *unit, struct error *err);
/* Run the generators and read every unit again. */
MUST_CHECK int manager_reload(struct manager *manager, struct error *err);

/* How often systemd has restarted the service by itself since somebody started it. */
MUST_CHECK int manager_restarts(struct manager *manager, const char *unit, uint32_t *ret_restarts,
				struct error *err);

struct manager_failure {
	const char *unit;    /* static */
	char result[32];     /* systemd.exec(5), $SERVICE_RESULT: "exit-code", "signal" ... */
	int32_t exit_status; /* of its main process, 0 where another one failed */
};

/* Which of the run's services ended for good, the first in the order they start in. -ENOENT: none did. */
MUST_CHECK int manager_run_failure(struct manager *manager, struct manager_failure *ret_failure,
				   struct error *err);

/* Whether the kernel says that something keeps the clock right; systemd-timedated asks it for those who may
 * not. */
MUST_CHECK int manager_clock_is_set(struct manager *manager, bool *ret_set, struct error *err);

/* Start a run: each unit of kiln-run.target without its old failures, then the target.
 * Before: a run that comes to rest just now ends (at most 10 s). kiln-uploadd starts anew, for credentials
 * may have come since. */
MUST_CHECK int manager_start_run(struct manager *manager, struct error *err);
/* Whether a run was started, be it that it waits yet, and none has stopped it since. */
MUST_CHECK int manager_run_is_started(struct manager *manager, bool *ret_started, struct error *err);
MUST_CHECK int manager_reset_run(struct manager *manager, struct error *err);
#define MANAGER_RUN_UNIT "kiln-run.target"
