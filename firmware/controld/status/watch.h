/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last seconds of the daemons' status pages (core/run/status.h). A rate is the growth of a counter
 * between the oldest and the newest sample, since a page holds totals alone.
 */
#pragma once

#include "core/run/status.h"

#include <stdbool.h>
#include <stddef.h>

#define WATCH_SAMPLES 12u

struct watch {
	struct watched {
		struct status sample[WATCH_SAMPLES]; /* newest last; of one life of the daemon */
		size_t count;
	} of[STATUS_DAEMONS];
};

/* Reads each page once. A page that did not change adds no sample; a page of a new process, or no page, drops
 * the samples before. */
void watch_sample(struct watch *watch);
/* The newest page; NULL = there is none. Valid until the next watch_sample(). */
const struct status *watch_newest(const struct watch *watch, enum status_daemon daemon);
bool watch_is_alive(const struct status *status);
/* Growth a second of the counter (uint64_t) at this offset in struct status. NaN = not known: too few
 * samples, the daemon is gone or its page is stale. */
double watch_rate(const struct watch *watch, enum status_daemon daemon, size_t offset);
