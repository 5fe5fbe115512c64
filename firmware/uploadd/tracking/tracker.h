/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that tells MLflow of the runs (tracking.url). It works beside the uploads, so a tracking server
 * that hangs never delays them, and it never touches a file that the trainer waits for.
 *
 *     tracker.c     the thread: collects, sends, waits longer after failures
 *     collect.c     from the run's files to the tracking server's spool (core/run/tracking.h)
 *     about.c       what is told of a run          follow.c    its points by step
 *     journal.c     its metrics                    files.c     the JSON files of the spool
 *     send.c        from the spool to the server   champion.c  models that were promoted
 *     connect.c     the connection                 refusals.c  what a server refuses
 *
 * Order: tracker_open -> (tracker_collect | tracker_status)* -> tracker_close, all from one thread.
 * Crash: harmless at any point. What is not sent is in the spool of the tracking server, or still in that of
 * the trainer, from which a run is removed only after tracker_collect().
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"
#include "core/run/status.h"

struct tracker;

/* Starts the thread. Errors: -EAGAIN, -ENOMEM. */
MUST_CHECK int tracker_open(struct tracker **ret_tracker, struct error *err);
/* Ends the thread. With `drain` waits until the server has everything, a request has failed, or
 * TRACKER_DRAIN_S have passed, and logs what the server has not been told. Accepts NULL. */
#define TRACKER_DRAIN_S 20u
void tracker_close(struct tracker *tracker, bool drain);

/* Takes the rest of a run into the spool of the tracking server, before its files are removed. `record`: its
 * run.json with the member "state". Blocks: for the disk, never for the server. A failure is logged: the run
 * is more important than its curves in MLflow. `tracker` may be NULL. */
void tracker_collect(struct tracker *tracker, const struct run *run, const cJSON *record);

/* Notes on the status page what the thread does. `tracker` may be NULL. */
void tracker_status(struct tracker *tracker, struct status_uploadd *status);
