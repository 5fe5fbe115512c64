/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd's manager (org.freedesktop.systemd1) over the system bus: start and stop units, look at their
 * state. Only root may start or stop units. Each call waits for the answer, at most MANAGER_WAIT_S; a queued
 * job goes on after the call, except with manager_run().
 *
 * Threads: one caller at a time for each struct manager. Crash: jobs that were queued go on.
 * Errors of every call: -ENOTCONN and the like where there is no bus; else what systemd said, as text.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define MANAGER_WAIT_S 20u

struct manager;

MUST_CHECK int manager_open(struct manager **ret_manager, struct error *err);
void manager_closep(struct manager **manager);

/* Queue the start or stop of a unit. To start a unit that runs, or to stop one that does not, is no error. */
MUST_CHECK int manager_start(struct manager *manager, const char *unit, struct error *err);
MUST_CHECK int manager_stop(struct manager *manager, const char *unit, struct error *err);
/* Starts a unit and waits until the start is done: for a oneshot until its program has ended, with success or
 * not. Errors: -ETIMEDOUT after `wait_s`; the unit goes on then. */
MUST_CHECK int manager_run(struct manager *manager, const char *unit, uint64_t wait_s, struct error *err);
/* Tells whether a unit is active, starting or stopping, or has a job queued. A unit that does not exist is
 * not busy. */
MUST_CHECK int manager_is_busy(struct manager *manager, const char *unit, bool *ret_busy, struct error *err);
/* Tells whether an update is being fetched or installed, or waits for the box's restart. */
MUST_CHECK int manager_update_is_busy(struct manager *manager, bool *ret_busy, struct error *err);
/* Queues the start of poweroff.target, reboot.target or suspend.target, which no later job can replace. */
MUST_CHECK int manager_power(struct manager *manager, const char *target, struct error *err);
/* Forgets a unit's failure and its count of restarts. A unit that is not loaded has neither: no error. */
MUST_CHECK int manager_reset_failed(struct manager *manager, const char *unit, struct error *err);
/* Has systemd run the generators and read every unit again. */
MUST_CHECK int manager_reload(struct manager *manager, struct error *err);

/* Tells how often systemd has restarted the service by itself since somebody started it. */
MUST_CHECK int manager_restarts(struct manager *manager, const char *unit, uint32_t *ret_restarts,
				struct error *err);

struct manager_failure {
	const char *unit;    /* static */
	char result[32];     /* systemd.exec(5), $SERVICE_RESULT: "exit-code", "signal" ... */
	int32_t exit_status; /* exit status of the main process; 0 where another process failed */
};

/* Finds the service of the run that ended for good: the first one in the order in which they start.
 * Errors: -ENOENT none did. */
MUST_CHECK int manager_run_failure(struct manager *manager, struct manager_failure *ret_failure,
				   struct error *err);

/* Tells whether the kernel's clock is synchronised. systemd-timedated asks the kernel, for processes that may
 * not do so themselves. */
MUST_CHECK int manager_clock_is_set(struct manager *manager, bool *ret_set, struct error *err);

/* Starts a run: waits until a run that is just coming to rest has ended (at most 10 s), forgets the failures
 * of the run's units, restarts kiln-uploadd, because its credentials may have changed, then starts
 * kiln-run.target. */
MUST_CHECK int manager_start_run(struct manager *manager, struct error *err);
/* Tells whether a run was started and not stopped since. A start that still waits counts. */
MUST_CHECK int manager_run_is_started(struct manager *manager, bool *ret_started, struct error *err);
MUST_CHECK int manager_reset_run(struct manager *manager, struct error *err);
#define MANAGER_RUN_UNIT "kiln-run.target"
