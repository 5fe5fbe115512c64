/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial of a series that needs more memory than the machine has: the kernel kills the trainer (SIGKILL),
 * which is started again, and so on. After KILLED_TRIES such ends in a row the trial fails, so that the other
 * trials go on.
 *
 * A file beside the status page says that a trainer works and has written no checkpoint yet. A trainer that
 * finds the file of its run knows that the one before was killed, or crashed. The kernel killed it for lack
 * of memory where the file "ended" beside it says so: kiln-traind.service writes there how systemd saw the
 * trainer end. Without systemd (kiln run) it counts as killed by the kernel where the kernel has killed any
 * process of the machine since (oom_kill in /proc/vmstat). A trainer that was killed after a checkpoint does
 * not count: the trial advances.
 *
 * While trials of other slots train, the machine may lack memory for all of them, but have it for each alone.
 * So no trial fails then: that of slot 0 tries on, and its kills do not count; that of another slot leaves
 * it, and waits for its turn in slot 0 (SERIES_EXIT_MOVE).
 *
 * Crash: harmless. The file is gone after a new start of the machine, and counting begins anew.
 */
#pragma once

#include "core/base/error.h"

#define KILLED_TRIES 3u

/* Notes that a trainer of this run works; to be called once, before the process takes its memory. Errors:
 * -EBADMSG the run is a trial, and the kernel has killed KILLED_TRIES trainers of it in a row; -EUSERS the
 * same, in a slot from 1 on, while trials of other slots train. A file that
 * cannot be read or written is no error. */
MUST_CHECK int killed_look(const char *run_id, struct error *err);

/* The trainer has written a checkpoint, or ends. Any thread. */
void killed_forget(void);
