/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests an endpoint gets at once (the limit). A pure function of what happened and when: no
 * clock, no I/O. All addresses of an endpoint, and the hosts that it redirects to, share one pace.
 *
 * Why measured: the right number depends on the distance, on the store and on what else uses the link, and no
 * key of a configuration fits all. Too few leave the link empty while answers travel; too many make the store
 * answer 503 or fill queues on the way.
 *
 *   more   While requests wait for the limit, a trial adds half as many. They stay where the rate grows by
 *          a tenth; otherwise the old limit returns, and the next trial comes later. Trials of a third fewer
 *          alternate with them; those stay where the rate hardly suffers.
 *   less   An answer that asks for less (429, 503) reduces the limit by three tenths, once for all requests
 *          that were in flight: they all met the same overload.
 *   back   After PACE_HOLD_US without such an answer the limit doubles every PACE_DOUBLE_US until it is the
 *          old one. So 10 s after its end a fault, however long, has no effect left.
 *   dark   After many failures in a row, one request at a time asks whether the endpoint is there again, at
 *          the latest PACE_PROBE_US after the last. The other requests use up none of their attempts
 *          meanwhile, and the endpoint does not come back to a crowd.
 *
 * Times are in microseconds of one clock; `now_us` never decreases from call to call. All O(1).
 */
#pragma once

#include "drivers/http/retry.h"

#define PACE_HOLD_US       UINT64_C(2500000)
#define PACE_DOUBLE_US     UINT64_C(800000)
#define PACE_PROBE_US      UINT64_C(1000000)
#define PACE_INTERVAL_US   UINT64_C(500000) /* over which a rate is measured */
#define PACE_DARK_FAILURES 8u

struct pace {
	uint32_t least, most;
	uint64_t target_bytes_per_s;

	uint32_t full;     /* the limit when nothing is wrong */
	uint32_t floor;    /* the limit after the last slow-down */
	uint64_t slow_us;  /* when the last slow-down was */
	bool slowed;       /* the limit is not back at `full` yet */
	uint32_t failures; /* in a row */
	uint64_t probe_us; /* in the dark: when to ask again */

	/* The interval that is being measured. */
	uint64_t since_us, bytes;
	bool measured; /* requests waited for the limit all the time: the rate tells of the limit */
	bool settled;  /* the limit was the same in the interval before: its requests are gone */
	/* The trial. */
	enum { PACE_STAY, PACE_MORE, PACE_FEWER } trial;
	uint32_t base;      /* the limit before the trial ... */
	double base_rate;   /* ... and its bytes a second */
	uint64_t next_us;   /* when to begin the next trial */
	uint64_t pause_us;  /* how long to wait after a trial that failed */
	bool fewer_is_next; /* the two kinds alternate once more requests did not help */
	bool enough;        /* the rate reached the target when it was judged last */
};

/* Begins with a limit of `least`, which never exceeds `most`. At `target_bytes_per_s` no more are tried (0 =
 * no such rate). */
void pace_init(struct pace *pace, uint32_t least, uint32_t most, uint64_t target_bytes_per_s);

/* The limit now. */
uint32_t pace_limit(const struct pace *pace, uint64_t now_us);
/* When the limit rises by itself; UINT64_MAX = it does not. */
uint64_t pace_rises_us(const struct pace *pace, uint64_t now_us);

/* The reason for the limit, for a person. */
const char *pace_reason(const struct pace *pace, uint64_t now_us);

/* Tells how many bytes arrived since the last call. `full`: the limit is reached, and requests wait. */
void pace_look(struct pace *pace, uint64_t bytes, bool full, uint64_t now_us);

/* Tells that an attempt which began at `started_us` has ended; `failed` with this class. Returns true when
 * the endpoint was dark and is there again: requests that wait for their next attempt may begin it now. */
bool pace_ended(struct pace *pace, bool failed, enum retry_class class, uint64_t started_us, uint64_t now_us);
