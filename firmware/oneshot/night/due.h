/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the timer's run is due. The timer is persistent: systemd lets it elapse once after a boot where the
 * box was off at run.at. So the program that it starts decides by itself whether this is still the time.
 */
#pragma once

#include "core/config/config.h"

enum due {
	DUE_NOW,    /* start the run */
	DUE_BEFORE, /* the start was before the configuration was written, so it was not missed */
	DUE_OVER,   /* the night has ended: run.ends_at is past */
	DUE_MISSED, /* the start was missed, and run.catch_up is off */
};

struct due_facts {
	int64_t now_s;     /* Unix time */
	int64_t uptime_s;  /* since the boot */
	int64_t written_s; /* Unix time at which the configuration was written; -1 = not known */
};

/* Decides. *ret_late_s: seconds since the newest start of a night, at or before now. */
enum due due_decide(const struct config *config, const struct due_facts *facts, int64_t *ret_late_s);
