/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the daemons' status pages (core/run/status.h) from the last seconds. A page contains totals
 * only, so a rate is the growth of a counter between the oldest and the newest sample.
 */
#pragma once

#include "core/run/status.h"

#include <stdbool.h>
#include <stddef.h>

#define WATCH_SAMPLES 12u

struct watch {
	struct watched {
		struct status sample[WATCH_SAMPLES]; /* oldest first; all from one process of the daemon */
		size_t count;
	} of[STATUS_DAEMONS];
};

/* Reads each daemon's status page once, as a new sample. A page that did not change adds no sample; a page of
 * a new process, or a missing page, removes the earlier samples. */
void watch_sample(struct watch *watch);
/* Returns the newest sample; NULL = there is none. Valid until the next watch_sample(). */
const struct status *watch_newest(const struct watch *watch, enum status_daemon daemon);
/* Returns the oldest sample, with which a growth begins; NULL = there is only one, or none. */
const struct status *watch_oldest(const struct watch *watch, enum status_daemon daemon);
bool watch_is_alive(const struct status *status);
/* Returns the growth per second of the counter (uint64_t) at this offset in struct status. NaN = not known:
 * too few samples, the daemon is gone or its page is too old. */
double watch_rate(const struct watch *watch, enum status_daemon daemon, size_t offset);
