/* SPDX-License-Identifier: Apache-2.0 */
/* Which record of a window stands at which offset: every record once, the same whatever spans ask for it. */
#include "fetchd/windows/window_records.c" // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SHARDS_MAX 8u
#define EACH_MAX   300u

static struct plan_settings settings = { .seed = 44 };
static const struct fetch fetch = { .settings = &settings };
static struct record record[SHARDS_MAX][EACH_MAX];
static struct shard shard[SHARDS_MAX];
static uint32_t arrival_order[SHARDS_MAX];
static uint64_t first[SHARDS_MAX];

static struct window window_of(enum split split, bool eager, const uint32_t *records, uint32_t shards)
{
	struct window window = { .source = 1,
				 .lane = 2,
				 .id = { split, 3, 4 },
				 .group = { .split = split, .shards = shards },
				 .shard = shard,
				 .arrival_order = arrival_order,
				 .first = first,
				 .eager = eager };

	memset(shard, 0, sizeof(shard));
	for (uint32_t k = 0; k < shards; k++) {
		shard[k].record = record[k];
		shard[k].records = records[k];
	}
	return window;
}

/* Shard k has arrived, or all have. */
static void add(struct window *window, uint32_t k)
{
	arrival_order[window->arrived] = k;
	first[window->arrived++] = window->records;
	window->records += shard[k].records;
}

static struct window whole(enum split split, const uint32_t *records, uint32_t shards)
{
	struct window window = window_of(split, false, records, shards);

	for (uint32_t k = 0; k < shards; k++)
		add(&window, k);
	return window;
}

static void records_of(struct window *window, uint64_t from, uint64_t to, struct window_record *ret)
{
	const struct span span = { .window = window, .arrived = window->arrived };
	const struct window_order order = window_order(&fetch, &span);

	for (uint64_t at = from; at < to; at += WINDOW_RECORDS_MAX) {
		uint32_t count = to - at < WINDOW_RECORDS_MAX ? (uint32_t)(to - at) : WINDOW_RECORDS_MAX;

		window_records(&order, at, count, ret + (at - from));
	}
}

static void expect_each_once(const struct window *window, const struct window_record *found)
{
	bool seen[SHARDS_MAX][EACH_MAX] = { 0 };

	for (uint64_t i = 0; i < window->records; i++) {
		uint64_t k = (uint64_t)(found[i].shard - shard), at = (uint64_t)(found[i].record - record[k]);

		assert_true(k < window->group.shards);
		assert_true(at < shard[k].records);
		assert_false(seen[k][at]);
		seen[k][at] = true;
	}
}

/* Any cut into two spans gives the same records. */
static void expect_any_spans(struct window *window, const struct window_record *found)
{
	static struct window_record again[SHARDS_MAX * EACH_MAX];

	for (uint64_t cut = 0; cut <= window->records; cut += 7) {
		records_of(window, 0, cut, again);
		records_of(window, cut, window->records, again + cut);
		assert_memory_equal(again, found, window->records * sizeof(*found));
	}
}

static const struct {
	uint32_t shards, records[SHARDS_MAX];
} cases[] = {
	{ 1, { 1 } },
	{ 1, { 300 } },
	{ 3, { 5, 0, 7 } },
	{ 4, { 0, 0, 3, 0 } },
	{ 5, { 300, 1, 129, 0, 128 } },
	{ 8, { 1, 1, 1, 1, 1, 1, 1, 1 } },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static struct window_record found[SHARDS_MAX * EACH_MAX];

static void evaluations_keep_the_order_of_the_shards(void **state)
{
	(void)state;
	for (size_t c = 0; c < CASES; c++) {
		struct window window = whole(SPLIT_VALIDATION, cases[c].records, cases[c].shards);
		uint64_t i = 0;

		records_of(&window, 0, window.records, found);
		for (uint32_t k = 0; k < cases[c].shards; k++)
			for (uint32_t n = 0; n < cases[c].records[k]; n++, i++) {
				assert_ptr_equal(found[i].shard, &shard[k]);
				assert_ptr_equal(found[i].record, &record[k][n]);
			}
		expect_any_spans(&window, found);
	}
}

static void training_permutes_the_whole_window(void **state)
{
	(void)state;
	for (size_t c = 0; c < CASES; c++) {
		struct window window = whole(SPLIT_TRAIN, cases[c].records, cases[c].shards);
		const struct order_key key = { .seed = 44, .pass = 3, .window = 4, .source = 1, .lane = 2 };

		records_of(&window, 0, window.records, found);
		expect_each_once(&window, found);
		expect_any_spans(&window, found);
		for (uint64_t i = 0; i < window.records; i++) {
			uint64_t k = (uint64_t)(found[i].shard - shard),
				 at = (uint64_t)(found[i].record - record[k]);

			assert_int_equal(first[k] + at, order_permute(&key, window.records, i));
		}
	}
}

/* Shards stand in the order of their arrival; the order inside a shard does not depend on it. */
static void an_eager_window_permutes_each_shard(void **state)
{
	static struct window_record other[SHARDS_MAX * EACH_MAX];

	(void)state;
	for (size_t c = 0; c < CASES; c++) {
		uint32_t shards = cases[c].shards;
		struct window window = window_of(SPLIT_TRAIN, true, cases[c].records, shards);
		uint64_t at = 0;

		for (uint32_t k = shards; k-- > 0;)
			add(&window, k);
		records_of(&window, 0, window.records, found);
		expect_each_once(&window, found);
		expect_any_spans(&window, found);
		for (uint32_t k = shards; k-- > 0;)
			for (uint32_t n = 0; n < cases[c].records[k]; n++)
				assert_ptr_equal(found[at++].shard, &shard[k]);
		window = window_of(SPLIT_TRAIN, true, cases[c].records, shards);
		for (uint32_t k = 0; k < shards; k++) {
			add(&window, k);
			records_of(&window, window.records - shard[k].records, window.records, other);
			at -= shard[k].records;
			assert_memory_equal(other, found + at, shard[k].records * sizeof(*other));
		}
	}
}

/* A span is handed out, then another shard arrives: the span's records stay the same. */
static void later_arrivals_change_nothing(void **state)
{
	static const uint32_t records[] = { 20, 30, 10 };
	static struct window_record later[SHARDS_MAX * EACH_MAX];
	struct window window = window_of(SPLIT_TRAIN, true, records, 3);
	struct span span = { .window = &window };
	struct window_order order;

	(void)state;
	add(&window, 1);
	span.arrived = window.arrived;
	records_of(&window, 0, 30, found);
	add(&window, 2);
	order = window_order(&fetch, &span);
	window_records(&order, 0, 30, later);
	assert_memory_equal(later, found, 30 * sizeof(*found));
}

/* Objects are one record each and stand in their order, in training, too, and while others are missing. */
static void objects_in_their_order(void **state)
{
	static const uint32_t ones[] = { 1, 1, 1, 1, 1 };
	struct window window = window_of(SPLIT_TRAIN, true, ones, 5);

	(void)state;
	window.in_order = true;
	for (uint32_t there = 1; there <= 5; there++) {
		add(&window, there - 1);
		records_of(&window, 0, there, found);
		for (uint32_t i = 0; i < there; i++) {
			assert_ptr_equal(found[i].shard, &shard[i]);
			assert_ptr_equal(found[i].record, record[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evaluations_keep_the_order_of_the_shards),
		cmocka_unit_test(training_permutes_the_whole_window),
		cmocka_unit_test(an_eager_window_permutes_each_shard),
		cmocka_unit_test(objects_in_their_order),
		cmocka_unit_test(later_arrivals_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
