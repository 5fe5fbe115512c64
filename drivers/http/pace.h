/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests an endpoint gets at once (the limit). A pure function of what happened and when: no
 * clock, no I/O. All addresses of an endpoint, and the hosts that it redirects to, share one pace.
 *
 * Why measured: the right number depends on the distance, on the store and on what else uses the link, and no
 * key of a configuration fits all. With too few requests the link is idle while requests and answers travel;
 * too many make the store answer 503, or fill queues in the network.
 *
 *   more   While requests wait because of the limit, a trial raises the limit by half. The higher limit
 *          stays where the rate grows by a tenth; otherwise the old limit returns, and the next trial comes
 *          later. Trials with a third fewer requests alternate with these; the lower limit stays where the
 *          rate falls by less than 3 %.
 *   less   An answer that asks for less (429, 503) reduces the limit by three tenths, once for all requests
 *          that were in flight: they all met the same overload.
 *   back   After PACE_HOLD_US without such an answer the limit doubles every PACE_DOUBLE_US until it is the
 *          old one. So no fault, however long, has an effect for more than 10 s after its end.
 *   dark   After many failures in a row one request at a time is sent, to find out whether the endpoint
 *          answers again, at the latest PACE_PROBE_US after the request before. Meanwhile the other requests
 *          use up none of their attempts, and an endpoint that recovers is not overloaded at once.
 *
 * Times are in microseconds of one clock; `now_us` never decreases from call to call. All O(1).
 */
#pragma once

#include "drivers/http/retry.h"

#define PACE_HOLD_US       UINT64_C(2500000)
#define PACE_DOUBLE_US     UINT64_C(800000)
#define PACE_PROBE_US      UINT64_C(1000000)
#define PACE_INTERVAL_US   UINT64_C(500000) /* length of the interval over which a rate is measured */
#define PACE_DARK_FAILURES 8u

struct pace {
	uint32_t least, most;
	uint64_t target_bytes_per_s;

	uint32_t full;     /* the highest limit, which applies unless a slow-down has lowered it */
	uint32_t floor;    /* the limit after the last slow-down, from which it rises again */
	uint64_t slow_us;  /* time of the last slow-down */
	bool slowed;       /* a slow-down happened, so the limit may be below `full` */
	uint32_t failures; /* failed attempts in a row */
	uint64_t probe_us; /* while the endpoint does not answer: when to send the next request */

	/* The running measurement: when it began, and bytes since then. */
	uint64_t since_us, bytes;
	/* requests waited for the limit all the time, so the measured rate depends on the limit */
	bool measured;
	/* the limit was the same in the interval before, so no request from an older limit is left */
	bool settled;
	/* The trial that is going on; PACE_STAY = none. */
	enum { PACE_STAY, PACE_MORE, PACE_FEWER } trial;
	uint32_t base;     /* the limit before the trial ... */
	double base_rate;  /* ... and the bytes per second at that limit */
	uint64_t next_us;  /* when to begin the next trial */
	uint64_t pause_us; /* how long to wait after a trial that failed */
	/* the next trial is one with fewer requests; the kinds alternate after trials that did not help */
	bool fewer_is_next;
	bool enough; /* the last measured rate reached target_bytes_per_s */
};

/* The limit begins at `least` and never exceeds `most`. At a rate of `target_bytes_per_s` (0 = none) the
 * limit is not raised further. */
void pace_init(struct pace *pace, uint32_t least, uint32_t most, uint64_t target_bytes_per_s);

/* Returns the limit at this time. */
uint32_t pace_limit(const struct pace *pace, uint64_t now_us);
/* Returns when the limit will rise without a further event; UINT64_MAX = never. */
uint64_t pace_rises_us(const struct pace *pace, uint64_t now_us);

/* Returns why the limit is what it is, as text for a person. */
const char *pace_reason(const struct pace *pace, uint64_t now_us);

/* Tells how many bytes arrived since the last call. `full`: as many requests as the limit allows are in
 * flight, and others wait. */
void pace_look(struct pace *pace, uint64_t bytes, bool full, uint64_t now_us);

/* Tells that an attempt which began at `started_us` has ended; `failed` with this class. Returns true where
 * the endpoint had not answered for long and now answers again: requests between two attempts may begin the
 * next one now. */
bool pace_ended(struct pace *pace, bool failed, enum retry_class class, uint64_t started_us, uint64_t now_us);
