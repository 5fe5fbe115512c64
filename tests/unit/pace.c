/* SPDX-License-Identifier: Apache-2.0 */
/* The pace against simulated endpoints, in simulated time: nothing here sleeps. */
#include "drivers/http/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SECOND   UINT64_C(1000000)
#define STEP     UINT64_C(10000)
#define MB       UINT64_C(1000000)
#define FLIGHT_N 256

/* Requests of `each` bytes over connections of `connection` bytes/s, at most `total` bytes/s together.
 * From `bad_from` to `bad_to`, or with more than `bears` requests in flight, answers fail with `class`. */
struct endpoint {
	uint64_t connection, total, each, bears, bad_from, bad_to;
	enum retry_class class;

	struct pace pace;
	uint64_t now, moved, asked, failed;
	struct {
		uint64_t started, left;
		bool doomed;
	} flight[FLIGHT_N];
	uint32_t flights, most;
};

static bool is_bad(const struct endpoint *at)
{
	return (at->now >= at->bad_from && at->now < at->bad_to) || (at->bears && at->flights > at->bears);
}

static void begin_requests(struct endpoint *at)
{
	while (at->flights < pace_limit(&at->pace, at->now)) {
		at->flight[at->flights].started = at->now;
		at->flight[at->flights++].left = at->each;
		at->flight[at->flights - 1].doomed = is_bad(at);
		at->asked++;
	}
	at->most = at->flights > at->most ? at->flights : at->most;
}

/* Simulates 10 ms. */
static void step(struct endpoint *at)
{
	uint64_t rate, bytes = 0;

	begin_requests(at);
	rate = at->flights ? at->total / at->flights : 0;
	rate = rate < at->connection ? rate : at->connection;
	pace_look(&at->pace, at->moved, true, at->now);
	at->now += STEP;
	for (uint32_t i = 0; i < at->flights;) {
		uint64_t part = rate * STEP / SECOND;

		part = at->flight[i].doomed ? 0 : part < at->flight[i].left ? part : at->flight[i].left;
		at->flight[i].left -= part;
		bytes += part;
		if (!at->flight[i].doomed && at->flight[i].left) {
			i++;
			continue;
		}
		at->failed += at->flight[i].doomed;
		(void)pace_ended(&at->pace, at->flight[i].doomed,
				 at->flight[i].doomed ? at->class : RETRY_NEVER, at->flight[i].started,
				 at->now);
		at->flight[i] = at->flight[--at->flights];
	}
	at->moved = bytes;
}

/* Returns the bytes/s over so many seconds. */
static uint64_t live(struct endpoint *at, double seconds)
{
	uint64_t from = at->now, until = at->now + (uint64_t)(seconds * (double)SECOND), moved = 0;

	while (at->now < until) {
		step(at);
		moved += at->moved;
	}
	return moved * SECOND / (at->now - from);
}

static struct endpoint wide(void)
{
	struct endpoint at = { .connection = 50 * MB,
			       .total = 2000 * MB,
			       .each = 8 * MB,
			       .class = RETRY_SLOW_DOWN,
			       .now = 1000 * SECOND };

	pace_init(&at.pace, 8, 256, 0);
	return at;
}

static void test_grows_while_it_pays(void **state)
{
	struct endpoint at = wide();

	(void)state;
	assert_int_equal(pace_limit(&at.pace, at.now), 8);
	(void)live(&at, 10);
	assert_true(live(&at, 60) > 1850 * MB);
	assert_in_range(at.pace.full, 36, 90); /* 40 connections use all of `total` */
	assert_true(at.most < 140);

	at = wide();
	at.total = 400 * MB; /* now 8 connections do */
	(void)live(&at, 120);
	assert_in_range(at.pace.full, 8, 12);
}

static void test_bounds(void **state)
{
	struct endpoint at = wide();

	(void)state;
	pace_init(&at.pace, 8, 20, 0);
	(void)live(&at, 30);
	assert_int_equal(at.pace.full, 20);
	assert_int_equal(at.most, 20);

	at = wide();
	pace_init(&at.pace, 8, 1, 0); /* an upper bound below the initial value */
	(void)live(&at, 30);
	assert_int_equal(at.most, 1);

	at = wide();
	pace_init(&at.pace, 8, 256, 500 * MB);
	(void)live(&at, 30);
	assert_in_range(at.pace.full, 10, 18);
	assert_true(live(&at, 10) > 490 * MB);
}

/* The reason for the limit is the target rate. */
static void test_target(void **state)
{
	struct endpoint at = wide();

	(void)state;
	pace_init(&at.pace, 8, 256, 100 * MB); /* the target is below the 400 MB/s of the first 8 */
	assert_string_equal(pace_reason(&at.pace, at.now), "no request has waited for long");
	(void)live(&at, 30);
	assert_int_equal(at.most, 8);
	assert_string_equal(pace_reason(&at.pace, at.now), "the target rate is reached");

	at.connection = 4 * MB; /* below the target: more requests are tried until it is reached */
	at.each = MB;
	(void)live(&at, 60);
	assert_in_range(at.pace.full, 22, 42);
	assert_true(live(&at, 10) > 95 * MB);

	pace_init(&at.pace, 8, 20, 4000 * MB); /* a target above what the store can do */
	(void)live(&at, 30);
	assert_int_equal(at.pace.full, 20);
	assert_string_equal(pace_reason(&at.pace, at.now), "the upper bound is reached");
}

/* With too few requests the pace learns nothing. */
static void test_idle(void **state)
{
	struct pace pace;

	(void)state;
	pace_init(&pace, 8, 256, 0);
	for (uint64_t now = 0; now < 600 * SECOND; now += STEP)
		pace_look(&pace, MB, now % (3 * STEP) > 0, now);
	assert_int_equal(pace.full, 8);
}

/* The best-known defect of such algorithms: a 503 in the first minute halves the rate of the whole night. */
static void test_one_slow_down(void **state)
{
	struct endpoint at = wide();
	uint64_t before;

	(void)state;
	(void)live(&at, 20);
	before = live(&at, 5);
	at.bad_from = at.now;
	at.bad_to = at.now + 1;
	(void)live(&at, 0.2);
	assert_in_range(at.failed, 1, FLIGHT_N);
	assert_true(pace_limit(&at.pace, at.now) <= at.pace.full * 8 / 10);
	assert_true(pace_limit(&at.pace, at.now) >=
		    at.pace.full * 6 / 10); /* one decrease, not one per answer */
	(void)live(&at, 9.8);
	assert_int_equal(pace_limit(&at.pace, at.now), at.pace.full);
	assert_true(live(&at, 10) > before * 95 / 100);
}

static void test_bursts(void **state)
{
	static const enum retry_class classes[] = { RETRY_SLOW_DOWN, RETRY_SERVER, RETRY_RESET, RETRY_CONNECT,
						    RETRY_TIMEOUT };

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		for (uint64_t lasts = 1; lasts < 200; lasts *= 3) {
			struct endpoint at = wide();
			uint64_t before, asked;

			(void)live(&at, 30);
			before = live(&at, 5);
			at.class = classes[i];
			at.bad_from = at.now;
			at.bad_to = at.now + lasts * SECOND;
			asked = at.asked;
			(void)live(&at, (double)lasts);
			/* The endpoint gets a rest: after a short time about one request a second. */
			assert_true(at.asked - asked < 400 + 2 * lasts);
			(void)live(&at, 10);
			assert_true(live(&at, 10) > before * 95 / 100);
		}
}

/* An endpoint that never bears more than a dozen requests gets about that many, not one a minute, and
 * seldom more. */
static void test_overload(void **state)
{
	struct endpoint at = wide();

	(void)state;
	at.bears = 12;
	(void)live(&at, 60);
	at.asked = at.failed = 0;
	assert_true(live(&at, 300) > 12 * at.connection * 60 / 100);
	assert_true(at.failed * 20 < at.asked);
}

/* One address in three is down: the others go on as before. */
static void test_some_fail(void **state)
{
	struct pace pace;
	uint64_t now = SECOND;

	(void)state;
	pace_init(&pace, 8, 8, 0);
	for (int i = 0; i < 1000; i++, now += STEP)
		assert_false(pace_ended(&pace, i % 3 == 0, RETRY_CONNECT, now - STEP, now));
	assert_int_equal(pace_limit(&pace, now), 8);
}

static void test_dark(void **state)
{
	struct pace pace;
	uint64_t now = SECOND, probes = 0;

	(void)state;
	pace_init(&pace, 8, 8, 0);
	for (uint32_t i = 0; i < PACE_DARK_FAILURES; i++)
		assert_false(pace_ended(&pace, true, RETRY_CONNECT, now, now));
	assert_int_equal(pace_limit(&pace, now), 0);
	for (uint64_t until = now + 60 * SECOND; now < until; now = pace_rises_us(&pace, now)) {
		if (!pace_limit(&pace, now))
			continue;
		assert_int_equal(pace_limit(&pace, now), 1);
		probes++;
		assert_false(pace_ended(&pace, true, RETRY_CONNECT, now, now));
	}
	assert_in_range(probes, 55, 70);
	while (!pace_limit(&pace, now))
		now = pace_rises_us(&pace, now);
	/* A refusal counts as an answer, too. */
	assert_true(pace_ended(&pace, true, RETRY_NEVER, now, now));
	assert_int_equal(pace_limit(&pace, now), 1);
	while (pace_rises_us(&pace, now) != UINT64_MAX)
		now = pace_rises_us(&pace, now);
	assert_int_equal(pace_limit(&pace, now), 8);
}

/* An endpoint whose answers are malformed answers: the requests go on at their pace. */
static void test_malformed(void **state)
{
	struct pace pace;

	(void)state;
	pace_init(&pace, 8, 8, 0);
	for (uint32_t i = 0; i < 10 * PACE_DARK_FAILURES; i++)
		assert_false(pace_ended(&pace, true, RETRY_MALFORMED, SECOND, SECOND));
	assert_int_equal(pace_limit(&pace, SECOND), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_while_it_pays),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_one_slow_down),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_overload),
		cmocka_unit_test(test_some_fail),
		cmocka_unit_test(test_dark),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
