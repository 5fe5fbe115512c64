/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the next use of a shard with a simulated run, window by window. */
#include "data/next_use.h"
#include "core/base/paths.h"
#include "data/order.h"
#include "scratch.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define EPOCHS     3u
#define TRAIN      23u
#define VALIDATION 7u
#define TEST       4u
#define SHARDS     (TRAIN + VALIDATION + TEST)
#define WINDOW     3u
#define STEPS_MAX  64u
#define HELD       2u /* the window in use, and the next */

/* Windows held by runs that read further ahead. */
#define AHEAD_SHARDS   60u
#define AHEAD_PASSES   6u
#define AHEAD_MAX_USES 30u

struct step {
	struct cursor cursor;
	bool reads[SHARDS]; /* by shard: those of train, then of validation, then of test */
};

static struct plan *plan;
static struct step step[STEPS_MAX];
static unsigned steps;

static void add_split(struct plan_writer *writer, enum split split, unsigned count)
{
	static const char letter[] = "abc";

	for (unsigned i = 0; i < count; i++) {
		char key[16];
		struct plan_shard shard = { .key = key, .etag = "e", .version = "", .bytes = 1 };

		(void)snprintf(key, sizeof(key), "%c-%03u", letter[split], i);
		assert_int_equal(plan_add(writer, split, &shard, NULL), 0);
	}
}

static unsigned first_of(enum split split)
{
	return split == SPLIT_TRAIN ? 0 : split == SPLIT_VALIDATION ? TRAIN : TRAIN + VALIDATION;
}

static void walk_segment(enum split split, uint64_t segment)
{
	uint64_t shards = plan_source_shards(plan, 0, split);

	for (uint64_t window = 0; window < plan_windows(plan, 0, 0, split); window++) {
		struct step *at = &step[steps++];

		at->cursor = (struct cursor){ .split = split, .segment = segment, .places = 1 };
		at->cursor.place[0] =
			(struct cursor_place){ .pass = split == SPLIT_TRAIN ? segment : 0, .window = window };
		for (uint64_t k = 0; k < WINDOW && window * WINDOW + k < shards; k++) {
			uint64_t shard = order_position(1, 0, WINDOW, window, k);

			if (split == SPLIT_TRAIN)
				shard = order_shard(44, 0, segment, shards, shard);
			at->reads[first_of(split) + shard] = true;
		}
	}
}

static int setup(void **state)
{
	struct plan_settings settings = { .order_version = ORDER_VERSION,
					  .lanes = 1,
					  .sources = 1,
					  .seed = 44,
					  .epochs = EPOCHS,
					  .window_shards = WINDOW,
					  .batch_rows = 1,
					  .weight = { 1 } };
	struct plan_writer *writer;
	char path[PATH_BYTES];

	if (scratch_setup(state) != 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/plan", root);
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	add_split(writer, SPLIT_TRAIN, TRAIN);
	add_split(writer, SPLIT_VALIDATION, VALIDATION);
	add_split(writer, SPLIT_TEST, TEST);
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		walk_segment(SPLIT_TRAIN, epoch);
		walk_segment(SPLIT_VALIDATION, epoch);
	}
	walk_segment(SPLIT_TEST, 0);
	assert_true(steps < STEPS_MAX);
	return 0;
}

static int teardown(void **state)
{
	plan_close(plan);
	return scratch_teardown(state);
}

static double use(const struct cursor *cursor, unsigned shard, uint32_t held)
{
	enum split split = shard < TRAIN                ? SPLIT_TRAIN
			   : shard < TRAIN + VALIDATION ? SPLIT_VALIDATION
							: SPLIT_TEST;

	return next_use(plan, cursor, 0, split, shard - first_of(split), held);
}

/* Returns the step that reads the shard next; `steps` if there is none. */
static unsigned read_next(unsigned from, unsigned shard)
{
	while (from < steps && !step[from].reads[shard])
		from++;
	return from;
}

/* An earlier use is nearer, in whichever split it is; never used again is INFINITY. */
static void test_order_of_uses(void **state)
{
	unsigned compared = 0;

	(void)state;
	for (unsigned t = 0; t < steps; t++)
		for (unsigned a = 0; a < SHARDS; a++) {
			double use_a = use(&step[t].cursor, a, 0);
			unsigned at_a = read_next(t, a);

			assert_int_equal(isinf(use_a), at_a == steps);
			assert_int_equal(use_a < 0, false);
			if (step[t].reads[a])
				assert_true(use_a == 0);
			for (unsigned b = 0; b < SHARDS; b++) {
				unsigned at_b = read_next(t, b);

				if (use_a < use(&step[t].cursor, b, 0)) {
					assert_true(at_a <= at_b);
					compared += at_a < at_b;
				}
			}
		}
	assert_true(compared > 10000);
}

static void test_once_read(void **state)
{
	(void)state;
	for (unsigned t = 0; t < steps; t++)
		for (unsigned a = 0; a < SHARDS; a++) {
			double after = use(&step[t].cursor, a, HELD);
			bool next = t + 1 < steps && step[t + 1].reads[a];

			if (!step[t].reads[a] && !next)
				continue;
			assert_int_equal(isinf(after), read_next(t + 1 + next, a) == steps);
			assert_true(after > 0);
		}
}

static void test_end(void **state)
{
	struct cursor cursor = { .ended = 1 };

	(void)state;
	assert_true(isinf(use(&cursor, 0, false)));
}

static void test_find(void **state)
{
	uint64_t index;

	(void)state;
	for (unsigned i = 0; i < TRAIN; i++) {
		assert_true(plan_find(plan, 0, SPLIT_TRAIN, plan_shard(plan, 0, SPLIT_TRAIN, i).key, &index));
		assert_int_equal(index, i);
	}
	assert_false(plan_find(plan, 0, SPLIT_TRAIN, "b-000", &index));
	assert_false(plan_find(plan, 0, SPLIT_TRAIN, "", &index));
	assert_true(plan_find(plan, 0, SPLIT_TEST, "c-003", &index));
}

/* ---- The purpose: cache the shards that are used soonest ---- */

static unsigned farthest(const bool *held, unsigned t, bool by_use, const unsigned *last)
{
	unsigned worst = SHARDS;

	for (unsigned i = 0; i < SHARDS; i++) {
		if (!held[i])
			continue;
		if (worst == SHARDS ||
		    (by_use ? use(&step[t].cursor, i, HELD) > use(&step[t].cursor, worst, HELD)
			    : last[i] < last[worst]))
			worst = i;
	}
	return worst;
}

static unsigned misses(unsigned room, bool by_use)
{
	bool held[SHARDS] = { 0 };
	unsigned last[SHARDS] = { 0 }, count = 0, missed = 0;

	for (unsigned t = 0; t < steps; t++)
		for (unsigned i = 0; i < SHARDS; i++) {
			if (!step[t].reads[i])
				continue;
			last[i] = t;
			if (held[i])
				continue;
			missed++;
			held[i] = true;
			if (count < room)
				count++;
			else
				held[farthest(held, t, by_use, last)] = false;
		}
	return missed;
}

static void test_better_than_lru(void **state)
{
	(void)state;
	for (unsigned room = 6; room <= 24; room += 6)
		assert_true(misses(room, true) < misses(room, false));
	assert_int_equal(misses(SHARDS, true), SHARDS);
}

/* ---- Runs that read further ahead ---- */

static struct plan *make_long_plan(void)
{
	struct plan_settings settings = { .order_version = ORDER_VERSION,
					  .lanes = 1,
					  .sources = 1,
					  .seed = 44,
					  .epochs = AHEAD_PASSES,
					  .window_shards = 1,
					  .batch_rows = 1,
					  .weight = { 1 } };
	struct plan_writer *writer;
	struct plan *made;
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%s/long", root);
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	add_split(writer, SPLIT_TRAIN, AHEAD_SHARDS);
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &made, NULL), 0);
	return made;
}

/* The policy of fetchd: a shard replaces the cached one that is used last, if that use is later than its
 * own. */
static void keep(const struct plan *of, const struct cursor *cursor, bool *kept, unsigned *count,
		 unsigned shard, uint32_t held)
{
	unsigned worst = shard;
	double most = next_use(of, cursor, 0, SPLIT_TRAIN, shard, held);

	for (unsigned i = 0; i < AHEAD_SHARDS && *count == AHEAD_MAX_USES; i++) {
		double rank = kept[i] ? next_use(of, cursor, 0, SPLIT_TRAIN, i, 0) : -1;

		if (rank > most) {
			most = rank;
			worst = i;
		}
	}
	if (*count < AHEAD_MAX_USES)
		(*count)++;
	else if (worst == shard)
		return;
	else
		kept[worst] = false;
	kept[shard] = true;
}

static unsigned misses_ahead(const struct plan *of, uint32_t ahead)
{
	bool kept[AHEAD_SHARDS] = { 0 };
	unsigned count = 0, missed = 0;

	for (uint64_t pass = 0; pass < AHEAD_PASSES; pass++) {
		uint64_t read = 0;

		for (uint64_t window = 0; window < AHEAD_SHARDS; window++) {
			struct cursor cursor = { .split = SPLIT_TRAIN, .segment = pass, .places = 1 };

			cursor.place[0] = (struct cursor_place){ .pass = pass, .window = window };
			for (; read <= window + ahead && read < AHEAD_SHARDS; read++) {
				unsigned shard = (unsigned)order_shard(44, 0, pass, AHEAD_SHARDS, read);

				if (kept[shard])
					continue;
				missed++;
				keep(of, &cursor, kept, &count, shard, 1 + ahead);
			}
		}
	}
	return missed;
}

static void test_read_ahead(void **state)
{
	struct plan *of = make_long_plan();
	unsigned least = misses_ahead(of, 1);

	(void)state;
	for (uint32_t ahead = 3; ahead <= 31; ahead = 2 * ahead + 1) {
		unsigned missed = misses_ahead(of, ahead);

		if (missed > least)
			fail_msg("%u windows ahead: %u misses, 1 ahead: %u", ahead, missed, least);
	}
	plan_close(of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_of_uses),
		cmocka_unit_test(test_once_read),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_better_than_lru),
		cmocka_unit_test(test_read_ahead),
	};

	return cmocka_run_group_tests_name("next_use", tests, setup, teardown);
}
