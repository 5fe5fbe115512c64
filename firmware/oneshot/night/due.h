/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether the timer's run is to start now. The timer is persistent: where the box was off at run.at,
 * systemd lets the timer elapse after the next boot. So the program that the timer starts decides itself
 * whether it is too late.
 */
#pragma once

#include "core/config/config.h"

enum due {
	DUE_NOW,    /* start the run */
	DUE_BEFORE, /* the start was earlier than the configuration was written: no start was missed */
	DUE_OVER,   /* the night has ended: run.ends_at is past */
	DUE_MISSED, /* the start was missed, and run.catch_up does not allow a late start */
};

struct due_facts {
	int64_t now_s;     /* Unix time */
	int64_t uptime_s;  /* seconds since the boot */
	int64_t written_s; /* Unix time at which the configuration was written; -1 = not known */
};

/* Decides by the configuration and the facts. *ret_late_s: seconds since the last start of a night before
 * now. */
enum due due_decide(const struct config *config, const struct due_facts *facts, int64_t *ret_late_s);
