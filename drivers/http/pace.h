/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests an endpoint gets at once. A pure function of what happened and when: no clock, no I/O.
 * All addresses of an endpoint, and the hosts it redirects to, share one pace.
 *
 *   more   While requests wait, half as many again are tried; they stay where the rate grows by a tenth, and
 *          are taken back, and tried again later, where it does not. Now and then fewer are tried, which stay
 *          where the rate does not suffer.
 *   less   An answer that asks for less (429, 503) takes three tenths away, once for all that were in flight.
 *   back   After PACE_HOLD_US without such an answer the limit doubles every PACE_DOUBLE_US until it is where
 *          it was: a fault, however long, leaves no trace 10 s after its end.
 *   dark   Where many attempts in a row failed and none went well, one request at a time asks whether the
 *          endpoint is there again, at most PACE_PROBE_US after the last; the others keep their attempts.
 *
 * Times are in microseconds of one clock; every call's `now_us` is at least the last one's. All O(1).
 */
#pragma once

#include "drivers/http/retry.h"

#define PACE_HOLD_US       UINT64_C(2500000)
#define PACE_DOUBLE_US     UINT64_C(800000)
#define PACE_PROBE_US      UINT64_C(1000000)
#define PACE_INTERVAL_US   UINT64_C(500000) /* over which a rate is taken */
#define PACE_DARK_FAILURES 8u

struct pace {
	uint32_t least, most;
	uint64_t target_bytes_per_s;

	uint32_t full;     /* at once, when nothing is wrong */
	uint32_t floor;    /* at once, after the last slow-down */
	uint64_t slow_us;  /* when that was */
	bool slowed;       /* and not yet back at `full` */
	uint32_t failures; /* in a row */
	uint64_t probe_us; /* in the dark: when to ask again */

	/* The interval in work. */
	uint64_t since_us, bytes;
	bool measured; /* requests waited all the time */
	bool settled;  /* none of it belongs to another limit */
	/* What is compared with what. */
	enum { PACE_STAY, PACE_MORE, PACE_FEWER } trial;
	uint32_t base;      /* limit before the trial */
	double base_rate;   /* and its bytes/s */
	uint64_t next_us;   /* when to begin the next one */
	uint64_t pause_us;  /* and what to wait after it */
	bool fewer_is_next; /* they alternate once more did not help */
	bool enough;        /* the rate was the target's when it was last judged */
};

/* Begins with `least` at once, never gives more than `most`; a rate of `target_bytes_per_s` is enough (0 =
 * none is). */
void pace_init(struct pace *pace, uint32_t least, uint32_t most, uint64_t target_bytes_per_s);

/* How many may be in flight now. */
uint32_t pace_limit(const struct pace *pace, uint64_t now_us);
/* When the limit rises by itself; UINT64_MAX = not. */
uint64_t pace_rises_us(const struct pace *pace, uint64_t now_us);

/* Why it is that many, for a person. */
const char *pace_reason(const struct pace *pace, uint64_t now_us);

/* Bytes arrived since the last call; `full`: as many are in flight as may be, and others wait. */
void pace_look(struct pace *pace, uint64_t bytes, bool full, uint64_t now_us);

/* An attempt begun at `started_us` ended; `failed` with that class. True when the endpoint was dark and is
 * there again: what waits for its next attempt may make it now. */
bool pace_ended(struct pace *pace, bool failed, enum retry_class class, uint64_t started_us, uint64_t now_us);
