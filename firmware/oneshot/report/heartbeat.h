/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heartbeat of a box: requests to notify.heartbeat_url, so that a monitor elsewhere notices a box that is
 * silent. Also tells people in the night when a program of the run does not work as it should.
 *
 *     URL/start   when a night has begun, and again every notify.heartbeat_min minutes while it goes on
 *     URL         when a night ended with a run that finished, stopped or expired
 *     URL/fail    when a night ended in another way
 *
 * This is the form of healthchecks.io. A repeated /start renews its grace time, so the monitor can be set to
 * a grace time of a few heartbeats, however long a night is; a plain URL would say that the night is over.
 *
 * kiln-heartbeat.timer starts `kiln-oneshot heartbeat` every minute. One thread, one process that ends. What
 * was said is in the file HEARTBEAT_FILE; a process that is killed says it once more.
 */
#pragma once

#include "core/config/config.h"

/* In PATH_RUNS: {"night": start of the night, "beat_s": last heartbeat, "told": {REASON: when}}. */
#define HEARTBEAT_FILE "heartbeat.json"
/* The same in PATH_RUNTIME, while the disk is full. It goes before the one on the disk. */
#define HEARTBEAT_FULL_FOLDER "heartbeat"
#define HEARTBEAT_FULL_FILE   HEARTBEAT_FULL_FOLDER "/" HEARTBEAT_FILE
/* People are told of one reason again after this time at the earliest. */
#define HEARTBEAT_TOLD_S 3600

/* While a night goes on: tells people which daemons are degraded, and why no run has begun yet; then sends a
 * heartbeat where one is due. Each is tried once, for at most a minute; where telling people fails, their
 * other notices wait for the next call. Does nothing without a night. */
int oneshot_heartbeat(int argc, char **argv);

/* Says how a night ended; `outcome` and `text` are those of its report. Tries for notify.wait_min. A failure
 * is logged. */
void heartbeat_end(const struct config *config, const char *outcome, const char *text);
