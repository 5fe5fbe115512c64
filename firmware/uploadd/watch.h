/* SPDX-License-Identifier: Apache-2.0 */
/* Wakes uploadd when the spool or the run record changes (inotify). */
#pragma once

#include "core/base/error.h"

struct watch {
	int fd;
};

MUST_CHECK int watch_open(struct watch *watch, struct error *err);
/* Watches the record and the folders of this run too. A folder that does not exist yet is found by the next
 * call. */
void watch_run(struct watch *watch, const char *run_id);
/* Sleeps until something changes, at most `timeout_ms`. */
void watch_wait(struct watch *watch, int timeout_ms);
