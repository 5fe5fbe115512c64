/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the events client.refused and client.dropped. A stranger can be refused a thousand times a second,
 * and must not fill the journal: of equal events (client and reason) the first is sent at once, and the
 * others of a minute are counted and sent as one event. At most REFUSALS_MAX different events are told apart
 * at a time; the rest counts as one.
 */
#pragma once

#include "core/base/events.h"

#define REFUSALS_MAX     128u
#define REFUSALS_EVERY_S 60u

struct refusals {
	/* of[0] counts what has no place of its own */
	struct refusal {
		bool dropped;             /* client.dropped, else client.refused */
		char who[128], what[256]; /* the client and the reason of the last event */
		uint64_t sent_ms;         /* when the last event was sent; 0 = the place is free */
		uint64_t more;            /* equal events since then, which were not sent */
	} of[REFUSALS_MAX];
};

/* Sends "WHO: WHAT" as client.dropped or client.refused, or counts it. */
void refusals_say(struct refusals *refusals, bool dropped, const char *who, const char *what,
		  uint64_t now_ms);
/* Sends the counts that are a minute old. */
void refusals_sweep(struct refusals *refusals, uint64_t now_ms);
