/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that a stream needs at a cursor, against the list of all windows that it reads in a run. */
#include "fetchd/windows/wanted.c" // NOLINT(bugprone-suspicious-include): its statics

#include "core/base/paths.h"
#include "data/order.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LANES   2u
#define SOURCES 2u
#define EPOCHS  2u

/* Windows of two shards: of lane 0 and 1 of the first source 3 and 2 of training, one each of the validation,
 * and one and none of the test; of the second source one each, and none of the test. */
static const unsigned shards_of[SOURCES][SPLIT_MAX] = { { 9, 3, 1 }, { 4, 2, 0 } };

static struct plan *plan;
static struct stream stream;
static struct window_id list[64]; /* what the stream of the first source reads */
static unsigned listed;

static int setup(void **state)
{
	const struct plan_settings settings = { .order_version = ORDER_VERSION,
						.lanes = LANES,
						.sources = SOURCES,
						.seed = 44,
						.epochs = EPOCHS,
						.window_shards = 2,
						.batch_rows = LANES,
						.weight = { 1, 1 } };
	struct plan_writer *writer;
	char path[PATH_BYTES];

	if (scratch_setup(state) != 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/plan", root);
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	for (uint32_t source = 0; source < SOURCES; source++)
		for (int split = 0; split < SPLIT_MAX; split++)
			for (unsigned i = 0; i < shards_of[source][split]; i++) {
				char key[32];
				const struct plan_shard shard = {
					.key = key, .etag = "", .version = "", .bytes = 1, .source = source
				};

				(void)snprintf(key, sizeof(key), "%d-%u", split, i);
				assert_int_equal(plan_add(writer, (enum split)split, &shard, NULL), 0);
			}
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &plan, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	plan_close(plan);
	return scratch_teardown(state);
}

static void be(uint32_t source, uint32_t lane)
{
	stream = (struct stream){ .source = source, .lane = lane, .place = source * LANES + lane };
	for (int split = 0; split < SPLIT_MAX; split++)
		stream.pass_windows[split] = plan_windows(plan, source, lane, (enum split)split);
}

static void list_segment(enum split split, uint64_t pass)
{
	for (uint64_t window = 0; window < stream.pass_windows[split]; window++)
		list[listed++] = (struct window_id){ split, pass, window };
}

static void list_run(void)
{
	listed = 0;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		list_segment(SPLIT_TRAIN, epoch);
		list_segment(SPLIT_VALIDATION, 0);
	}
	list_segment(SPLIT_TEST, 0);
}

static bool is(struct window_id a, struct window_id b)
{
	return a.split == b.split && a.pass == b.pass && a.window == b.window;
}

/* The cursor where the first source's stream takes rows from list[n]. */
static struct cursor cursor_at(unsigned n)
{
	struct cursor cursor = { .split = list[n].split, .segment = list[n].pass };

	for (unsigned i = 0; i < n && list[n].split == SPLIT_VALIDATION; i++)
		if (list[i].split == SPLIT_TRAIN)
			cursor.segment = list[i].pass;
	cursor.place[stream.place] =
		(struct cursor_place){ .pass = list[n].split == SPLIT_TRAIN ? list[n].pass : 0,
				       .window = list[n].window };
	return cursor;
}

static void the_window_in_use_and_those_after_it(void **state)
{
	(void)state;
	for (uint32_t lane = 0; lane < LANES; lane++)
		for (uint32_t ahead = 1; ahead <= 5; ahead++) {
			be(0, lane);
			list_run();
			assert_int_equal(listed, lane ? 6 : 9);
			for (unsigned n = 0; n < listed; n++) {
				struct cursor cursor = cursor_at(n);
				struct wanted wanted;
				unsigned same_pass = n;

				windows_wanted(plan, &cursor, &stream, ahead, &wanted);
				while (same_pass + 1 < listed && list[same_pass + 1].split == list[n].split &&
				       list[same_pass + 1].window == list[same_pass].window + 1)
					same_pass++;
				same_pass = same_pass < n + ahead ? same_pass : n + ahead;
				if (same_pass == n && n + 1 < listed)
					same_pass++; /* the next window is wanted whatever its pass */
				assert_true(wanted.in_use);
				assert_int_equal(wanted.count, same_pass - n + 1);
				for (unsigned i = 0; i < wanted.count; i++)
					assert_true(is(wanted.id[i], list[n + i]));
			}
		}
}

/* The lane has given all of its rows, other lanes have not. */
static void a_lane_that_is_over_waits_for_the_next_segment(void **state)
{
	struct cursor cursor = { .split = SPLIT_TRAIN, .segment = 1 };
	struct wanted wanted;

	(void)state;
	be(0, 0);
	cursor.place[0] = (struct cursor_place){ .pass = 1, .window = 3 };
	windows_wanted(plan, &cursor, &stream, 5, &wanted);
	assert_false(wanted.in_use);
	assert_int_equal(wanted.count, 1);
	assert_true(is(wanted.id[0], (struct window_id){ SPLIT_VALIDATION, 0, 0 }));
	/* Lane 1 has no shard of the test: after the last validation nothing comes. */
	be(0, 1);
	cursor.split = SPLIT_VALIDATION;
	cursor.place[1] = (struct cursor_place){ .window = 1 };
	windows_wanted(plan, &cursor, &stream, 5, &wanted);
	assert_false(wanted.in_use);
	assert_int_equal(wanted.count, 0);
}

/* The second source begins pass after pass while the first one's epoch goes on. */
static void other_sources_begin_their_next_pass(void **state)
{
	struct cursor cursor = { .split = SPLIT_TRAIN };
	struct wanted wanted;

	(void)state;
	be(1, 1);
	cursor.place[3] = (struct cursor_place){ .pass = 6 };
	windows_wanted(plan, &cursor, &stream, 5, &wanted);
	assert_true(wanted.in_use);
	assert_int_equal(wanted.count, 2);
	assert_true(is(wanted.id[0], (struct window_id){ SPLIT_TRAIN, 6, 0 }));
	assert_true(is(wanted.id[1], (struct window_id){ SPLIT_TRAIN, 7, 0 }));
	cursor.place[3].window = 1; /* the end of the pass */
	windows_wanted(plan, &cursor, &stream, 5, &wanted);
	assert_true(wanted.in_use);
	assert_true(is(wanted.id[0], (struct window_id){ SPLIT_TRAIN, 7, 0 }));
	assert_true(is(wanted.id[1], (struct window_id){ SPLIT_TRAIN, 8, 0 }));
}

/* Nothing is left to load once the last window of the run is among the wanted ones. */
static void the_last_window_of_the_run(void **state)
{
	struct cursor cursor;
	struct wanted wanted;

	(void)state;
	for (uint32_t lane = 0; lane < LANES; lane++)
		for (uint32_t ahead = 1; ahead <= 5; ahead++) {
			be(0, lane);
			list_run();
			for (unsigned n = 0; n < listed; n++) {
				cursor = cursor_at(n);
				windows_wanted(plan, &cursor, &stream, ahead, &wanted);
				assert_int_equal(windows_are_last(plan, &cursor, &stream, &wanted),
						 n + wanted.count == listed);
			}
		}
	/* Lane 1 has given the rows of its last epoch, and of the validation. */
	cursor = (struct cursor){ .split = SPLIT_VALIDATION, .segment = 1 };
	cursor.place[1] = (struct cursor_place){ .window = 1 };
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_true(windows_are_last(plan, &cursor, &stream, &wanted));
	/* How many passes a second source makes is not known. */
	be(1, 0);
	cursor = (struct cursor){ .split = SPLIT_TRAIN, .segment = EPOCHS - 1 };
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_false(windows_are_last(plan, &cursor, &stream, &wanted));
	cursor = (struct cursor){ .split = SPLIT_VALIDATION, .segment = EPOCHS - 1 };
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_true(windows_are_last(plan, &cursor, &stream, &wanted));
}

/* An evaluation reads the first source of a lane, then the second. */
static void evaluations_read_source_after_source(void **state)
{
	struct cursor cursor = { .split = SPLIT_VALIDATION };
	struct wanted wanted;

	(void)state;
	cursor.place[2] = (struct cursor_place){ .pass = 5, .window = 0 };
	be(1, 0);
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_false(wanted.in_use); /* soon */
	assert_true(is(wanted.id[0], (struct window_id){ SPLIT_VALIDATION, 0, 0 }));
	assert_true(is(wanted.id[1], (struct window_id){ SPLIT_TRAIN, 5, 0 }));
	/* However far the first source is. */
	cursor.place[0] = (struct cursor_place){ .window = 1 };
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_true(is(wanted.id[0], (struct window_id){ SPLIT_VALIDATION, 0, 0 }));
	cursor.place[0] = (struct cursor_place){ .pass = 1 };
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_true(wanted.in_use);
	assert_int_equal(wanted.count, 2);
	be(0, 0); /* done with this validation: its next epoch */
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_false(wanted.in_use);
	assert_int_equal(wanted.count, 1);
	assert_true(is(wanted.id[0], (struct window_id){ SPLIT_TRAIN, 1, 0 }));
	/* The last validation: the second source has no shards of the test. */
	cursor.segment = EPOCHS - 1;
	be(1, 0);
	windows_wanted(plan, &cursor, &stream, 1, &wanted);
	assert_true(wanted.in_use);
	assert_int_equal(wanted.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_in_use_and_those_after_it),
		cmocka_unit_test(a_lane_that_is_over_waits_for_the_next_segment),
		cmocka_unit_test(other_sources_begin_their_next_pass),
		cmocka_unit_test(the_last_window_of_the_run),
		cmocka_unit_test(evaluations_read_source_after_source),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
