/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd's manager (org.freedesktop.systemd1) over the system bus: start and stop units, look at their
 * state. The units of a run are those of the slot that this thread uses (core/base/slot.h). Only root may
 * start or stop units. Each call waits for the answer, at most MANAGER_WAIT_S or what manager_set_wait()
 * says; only manager_run() and manager_end() wait until the job is done; the other calls queue a job and
 * return.
 *
 * Threads: one caller at a time for each struct manager. Crash: jobs that were queued go on.
 * Errors of every call: -ENOTCONN and the like where there is no bus; else what systemd said, as text.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/slot.h"

#include <stdbool.h>
#include <stdint.h>

#define MANAGER_WAIT_S 20u

struct manager;

MUST_CHECK int manager_open(struct manager **ret_manager, struct error *err);
void manager_closep(struct manager **manager);
/* Sets how long the calls from now on wait for an answer: on a slow box systemd reads its units for more than
 * MANAGER_WAIT_S, and answers nobody meanwhile. */
void manager_set_wait(struct manager *manager, unsigned wait_s);

/* Queue the start or stop of a unit. To start a unit that runs, or to stop one that does not, is no error. */
MUST_CHECK int manager_start(struct manager *manager, const char *unit, struct error *err);
MUST_CHECK int manager_stop(struct manager *manager, const char *unit, struct error *err);
/* Starts a unit and waits until the start is done. For a service of Type=oneshot that is when its program has
 * ended, with success or not. Errors: -ETIMEDOUT the start took longer than `wait_s`, and goes on. */
MUST_CHECK int manager_run(struct manager *manager, const char *unit, uint64_t wait_s, struct error *err);
/* Stops a unit and waits until none of its processes is left. Errors: -ETIMEDOUT the stop took longer than
 * `wait_s`, and goes on. */
MUST_CHECK int manager_end(struct manager *manager, const char *unit, uint64_t wait_s, struct error *err);
/* Tells whether a unit is active, starting or stopping, or has a job queued. A unit that does not exist is
 * not busy. */
MUST_CHECK int manager_is_busy(struct manager *manager, const char *unit, bool *ret_busy, struct error *err);
/* Tells whether an update is being fetched or installed, or waits for the box's restart. */
MUST_CHECK int manager_update_is_busy(struct manager *manager, bool *ret_busy, struct error *err);
/* Queues the start of poweroff.target, reboot.target or suspend.target. No job that is queued later can
 * replace it. */
MUST_CHECK int manager_power(struct manager *manager, const char *target, struct error *err);
/* Forgets a unit's failure and its count of restarts. No error where the unit is not loaded. */
MUST_CHECK int manager_reset_failed(struct manager *manager, const char *unit, struct error *err);
/* Makes systemd run its generators and read all unit files again. */
MUST_CHECK int manager_reload(struct manager *manager, struct error *err);

/* Tells how often systemd has restarted a service automatically (NRestarts=). */
MUST_CHECK int manager_restarts(struct manager *manager, const char *unit, uint32_t *ret_restarts,
				struct error *err);

struct manager_failure {
	char unit[SLOT_UNIT_BYTES];
	/* why it failed: "exit-code", "signal" ... ($SERVICE_RESULT in systemd.exec(5)) */
	char result[32];
	int32_t exit_status; /* exit status of the main process; 0 where another process of the unit failed */
};

/* Tells whether a service has ended, and how: `result` is "success", or why it failed. */
MUST_CHECK int manager_ended(struct manager *manager, const char *unit, bool *ret_ended,
			     struct manager_failure *ret_how, struct error *err);

/* Finds the service of the run that failed and will not be restarted; of several, the one that starts first.
 * Errors: -ENOENT no service failed. */
MUST_CHECK int manager_run_failure(struct manager *manager, struct manager_failure *ret_failure,
				   struct error *err);

/* Finds the unit of a job of ranks (core/ranks/job.h) that failed; of several, the one on which the others
 * depend. Errors: -ENOENT no unit of the job failed. */
MUST_CHECK int manager_job_failure(struct manager *manager, const char *job,
				   struct manager_failure *ret_failure, struct error *err);
/* Forgets the failures of all units of such a job. */
MUST_CHECK int manager_job_reset(struct manager *manager, const char *job, struct error *err);

/* Tells whether the kernel's clock is synchronised. Asks systemd-timedated, because some of our processes may
 * not ask the kernel. */
MUST_CHECK int manager_clock_is_set(struct manager *manager, bool *ret_set, struct error *err);

/* Starts a run in slot 0: waits until a run that is just ending has stopped (at most 10 s), forgets the
 * failures of the run's units, restarts kiln-uploadd, because its credentials may have changed, and has the
 * devices counted anew, then starts kiln-run.target. */
MUST_CHECK int manager_start_run(struct manager *manager, struct error *err);
/* Queues the start of the run's target in this slot, where it is not started: what follows a trial. */
MUST_CHECK int manager_start_trial(struct manager *manager, struct error *err);
/* Queues the stop of the run's target in this slot. */
MUST_CHECK int manager_stop_trial(struct manager *manager, struct error *err);
/* The same in every slot. */
MUST_CHECK int manager_stop_run(struct manager *manager, struct error *err);
/* The same in every slot but 0, whose kiln-begin ends by itself where the series is stopped. */
MUST_CHECK int manager_stop_beside(struct manager *manager, struct error *err);
/* Tells whether the run of this slot was started and not stopped since. A start that is still queued counts
 * as started. */
MUST_CHECK int manager_run_is_started(struct manager *manager, bool *ret_started, struct error *err);
/* Tells whether a unit of this slot works: the run's target, or what follows a trial. */
MUST_CHECK int manager_slot_is_busy(struct manager *manager, bool *ret_busy, struct error *err);
MUST_CHECK int manager_reset_run(struct manager *manager, struct error *err);
