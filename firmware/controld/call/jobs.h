/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This box's parts of jobs that other boxes lead (core/ranks/job.h). A job belongs to the connection that
 * started it, and ends with it:
 *
 *     rank.start --> starting -- kiln-steer has started the unit --> running -- the unit has ended --+
 *                       |                                               |                            |
 *                       +-- it failed, or the client left --> left <----+-- the client left          |
 *                                                               |  ^                                 |
 *                      the file is removed <-- kiln-steer has stopped the unit    <------------------+
 *
 * A word that kiln-steer does not take, or fails, is said again in the next sweep, until the unit is stopped.
 * kiln-controld that was killed finds the files of its jobs when it starts, and stops these jobs.
 *
 * Owner: the list of struct calls. A call, then its session, has a pointer until job_leave().
 */
#pragma once

#include "controld/call/call.h"
#include "core/ranks/job.h"

#define JOBS_MAX 8u

struct job;

/* Tells the connection that the job's unit has ended. `line` is the message for the client, malloc'ed; the
 * callee frees it. The job is no longer the connection's. */
typedef void job_ended_fn(void *client, char *line);

/* Starts a job with the checked parameters of rank.start; the caller's connection owns it once the call has
 * ended well. Returns CALL_LATER. Errors: -EEXIST there is such a job; -EBUSY there are JOBS_MAX; those of
 * steer_say().
 */
MUST_CHECK int job_start(struct call *call, const char *name, const cJSON *params, struct error *err);
/* Has the unit of a job stopped. Returns CALL_LATER. Errors: -ENOENT there is no such job; those of
 * steer_say(). */
MUST_CHECK int job_stop(struct call *call, const char *name, struct error *err);
/* Says whom to tell of the end. */
void job_own(struct job *job, job_ended_fn *ended, void *client);
/* The connection has ended: the unit is stopped. */
void job_leave(struct job *job);

/* Finds the jobs of a kiln-controld that was killed, and has them stopped. */
void jobs_open(struct calls *calls);
/* Returns the name of a job that this box has; NULL: none. */
const char *jobs_any(const struct calls *calls);
/* Looks whether units have ended, and says words again. */
void jobs_sweep(struct calls *calls);
/* Frees the list. The units go on until the next kiln-controld stops them, or systemd. */
void jobs_done(struct calls *calls);
