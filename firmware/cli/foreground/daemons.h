/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kiln's programs as children of `kiln run`, in place of systemd. A daemon that ends with an exit code for a
 * temporary failure (core/base/error.h) is started again, after 1 s, 2 s, 4 s ... DAEMON_WAIT_MAX_S. After
 * DAEMON_RESTARTS_MAX failures in a row, each within DAEMON_GOOD_S of its start, it is not, so that `kiln
 * run` does not go on for ever with a run that no restart helps. One that a signal ended is started again
 * after 1 s. A child is asked to stop when `kiln run` dies. One thread, one run at a time.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

#define DAEMON_RESTARTS_MAX 10u
#define DAEMON_WAIT_MAX_S   30
#define DAEMON_GOOD_S       60u

/* Makes SIGINT and SIGTERM end the children, and then the run. daemons_are_stopped() tells that one came. */
void daemons_catch_signals(void);
bool daemons_are_stopped(void);

/* Runs a program of Kiln to its end: from the folder of this program, or from the libexec folder that
 * `make install` uses. Returns its exit code; after a signal EX_UNAVAILABLE. Errors: -errno of the start. */
MUST_CHECK int daemons_run_program(const char *const *arguments, struct error *err);

/* Runs kiln-fetchd and kiln-traind until the trainer is done, with `uploads` also kiln-uploadd until all
 * outputs are in the store. Returns EX_OK, or the exit code of the first daemon with a permanent failure, or
 * that fails too often. */
MUST_CHECK int daemons_train(bool uploads, struct error *err);
/* Starts kiln-uploadd beside the runs, where it does not work yet. It needs a run. Errors: -errno of the
 * start. */
MUST_CHECK int daemons_start_uploads(struct error *err);
/* Ends this kiln-uploadd, where it has not ended yet. */
void daemons_end_uploads(void);
/* In a child of this process: kiln-uploadd is the parent's. */
void daemons_forget_uploads(void);
/* The caller has waited for a process that it did not start itself: it may be kiln-uploadd. */
void daemons_reaped(pid_t pid);
/* Returns the exit code in the status of waitpid(2); EX_UNAVAILABLE after a signal, also where mpirun tells
 * of it. */
int daemons_exit_code(int status);
