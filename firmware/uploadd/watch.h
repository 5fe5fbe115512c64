/* SPDX-License-Identifier: Apache-2.0 */
/* Wakes uploadd when the spool or the run record changes (inotify). */
#pragma once

#include "core/base/error.h"

struct watch {
	int fd;
};

MUST_CHECK int watch_open(struct watch *watch, struct error *err);
/* From now on also watches the record and the folders of this run. A folder that does not exist yet is
 * watched from a later call on. */
void watch_run(struct watch *watch, const char *run_id);
/* Sleeps until something that is watched changes, at most `timeout_ms`. */
void watch_wait(struct watch *watch, int timeout_ms);
