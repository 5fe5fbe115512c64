/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/http/pace.h"

#include <string.h>

/* least growth of the rate for which half as many requests more stay; rates measured over half a second vary
 * by less */
#define GAIN           1.10
#define LOSS           0.97 /* least share of the rate that must remain for a third fewer requests to stay */
#define PAUSE_US       UINT64_C(5000000)
#define PAUSE_MAX_US   UINT64_C(60000000)
#define PROBE_FIRST_US UINT64_C(100000)
#define STEP_US        UINT64_C(50000) /* how often a rising limit is computed anew */

void pace_init(struct pace *pace, uint32_t least, uint32_t most, uint64_t target_bytes_per_s)
{
	memset(pace, 0, sizeof(*pace));
	pace->most = most;
	pace->least = pace->full = least < most ? least : most;
	pace->target_bytes_per_s = target_bytes_per_s;
	pace->pause_us = PAUSE_US;
}

static bool is_dark(const struct pace *pace)
{
	return pace->failures >= PACE_DARK_FAILURES && pace->failures >= pace->full;
}

/* The limit for an endpoint that answers: after PACE_HOLD_US it rises from `floor`, doubles every
 * PACE_DOUBLE_US (linearly between two doublings), and ends at `full`. */
static uint32_t risen(const struct pace *pace, uint64_t now_us)
{
	uint64_t since = now_us - pace->slow_us, doubled, within, limit;

	if (!pace->slowed)
		return pace->full;
	if (since < PACE_HOLD_US)
		return pace->floor;
	doubled = (since - PACE_HOLD_US) / PACE_DOUBLE_US;
	within = (since - PACE_HOLD_US) % PACE_DOUBLE_US;
	if (doubled >= 32)
		return pace->full;
	limit = (uint64_t)pace->floor << doubled;
	limit += limit * within / PACE_DOUBLE_US;
	return limit < pace->full ? (uint32_t)limit : pace->full;
}

uint32_t pace_limit(const struct pace *pace, uint64_t now_us)
{
	return is_dark(pace) ? now_us >= pace->probe_us : risen(pace, now_us);
}

uint64_t pace_rises_us(const struct pace *pace, uint64_t now_us)
{
	if (is_dark(pace))
		return now_us < pace->probe_us ? pace->probe_us : UINT64_MAX;
	if (risen(pace, now_us) == pace->full)
		return UINT64_MAX;
	return now_us - pace->slow_us < PACE_HOLD_US ? pace->slow_us + PACE_HOLD_US : now_us + STEP_US;
}

const char *pace_reason(const struct pace *pace, uint64_t now_us)
{
	if (is_dark(pace))
		return "the endpoint does not answer: one request at a time tests whether it is back";
	if (risen(pace, now_us) < pace->full)
		return "the endpoint asked for fewer requests; rising again";
	if (pace->trial)
		return pace->trial == PACE_MORE ? "trying whether more requests are faster"
						: "trying whether fewer requests are as fast";
	if (pace->enough)
		return "the target rate is reached";
	if (pace->full == pace->most)
		return "the upper bound is reached";
	return pace->next_us ? "more requests were not faster" : "no request has waited for long";
}

/* ---- More and fewer ---- */

static void set_full(struct pace *pace, uint32_t full)
{
	pace->full = full < pace->least ? pace->least : full > pace->most ? pace->most : full;
	pace->settled = false;
}

static void begin_trial(struct pace *pace, double rate)
{
	bool fewer = pace->full > pace->least, more;

	pace->enough = pace->target_bytes_per_s && rate >= (double)pace->target_bytes_per_s;
	more = pace->full < pace->most && !pace->enough;
	if (!more && !fewer)
		return;
	pace->base = pace->full;
	pace->base_rate = rate;
	pace->trial = more && !(fewer && pace->fewer_is_next) ? PACE_MORE : PACE_FEWER;
	set_full(pace, pace->trial == PACE_MORE ? pace->full + (pace->full + 1) / 2 : pace->full * 2 / 3);
}

/* After a trial that helped the next trial begins at once. */
static void end_trial(struct pace *pace, double rate, uint64_t now_us)
{
	bool well = rate >= pace->base_rate * (pace->trial == PACE_MORE ? GAIN : LOSS);

	pace->fewer_is_next = well ? pace->trial == PACE_FEWER : pace->trial == PACE_MORE;
	pace->trial = PACE_STAY;
	if (well) {
		pace->pause_us = PAUSE_US;
		begin_trial(pace, rate);
		return;
	}
	set_full(pace, pace->base);
	pace->next_us = now_us + pace->pause_us;
	pace->pause_us = pace->pause_us * 2 > PAUSE_MAX_US ? PAUSE_MAX_US : pace->pause_us * 2;
}

void pace_look(struct pace *pace, uint64_t bytes, bool full, uint64_t now_us)
{
	uint64_t took = now_us - pace->since_us;
	double rate;

	pace->bytes += bytes;
	pace->measured &= full && !pace->failures && risen(pace, now_us) == pace->full;
	if (took < PACE_INTERVAL_US)
		return;
	rate = (double)pace->bytes * 1e6 / (double)took;
	if (pace->measured && pace->settled && pace->trial)
		end_trial(pace, rate, now_us);
	else if (pace->measured && pace->settled && now_us >= pace->next_us)
		begin_trial(pace, rate);
	else
		pace->settled = pace->measured;
	pace->since_us = now_us;
	pace->bytes = 0;
	pace->measured = true;
}

/* ---- Less and back ---- */

static void slow_down(struct pace *pace, uint64_t started_us, uint64_t now_us)
{
	uint32_t now = risen(pace, now_us);

	/* The attempt began before the last slow-down: its answer is about the higher limit of that time. */
	if (pace->slowed && started_us < pace->slow_us)
		return;
	pace->floor = now * 7 / 10 ? now * 7 / 10 : 1;
	pace->slow_us = now_us;
	pace->slowed = true;
}

static void fail(struct pace *pace, uint64_t now_us)
{
	uint32_t before = pace->failures++;
	uint64_t wait;

	if (!is_dark(pace))
		return;
	before = before < pace->full ? 0 : before - pace->full;
	wait = before < 4 ? PROBE_FIRST_US << before : PACE_PROBE_US;
	pace->probe_us = now_us + (wait < PACE_PROBE_US ? wait : PACE_PROBE_US);
}

bool pace_ended(struct pace *pace, bool failed, enum retry_class class, uint64_t started_us, uint64_t now_us)
{
	bool dark = is_dark(pace);

	/* An endpoint that refuses, or gives a malformed answer, does answer. */
	if (failed && class != RETRY_NEVER && class != RETRY_MALFORMED) {
		if (class == RETRY_SLOW_DOWN)
			slow_down(pace, started_us, now_us);
		fail(pace, now_us);
		return false;
	}
	pace->failures = 0;
	if (!dark)
		return false;
	/* The limit begins at one request, and rises without the wait of PACE_HOLD_US: an endpoint that has
	 * just recovered can serve only a few requests. */
	pace->floor = 1;
	pace->slow_us = now_us > PACE_HOLD_US ? now_us - PACE_HOLD_US : 0;
	pace->slowed = true;
	return true;
}
