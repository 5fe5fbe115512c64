/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how rank 0 merges the quarantine lists of other ranks. Includes traind's .c file, because no library
 * has it. */
#include "traind/quarantine.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void find(struct quarantine *list, uint64_t first, uint64_t count, bool first_pass)
{
	for (uint64_t i = first; i < first + count; i++)
		put(list, &(struct ring_quarantined){ .shard = i, .offset = 8 * i }, first_pass);
}

/* Rank 1 gives its list and begins a new one. */
static void give(struct quarantine *other, struct quarantine *list)
{
	quarantine_merge(list, &other->all);
	other->all = (struct quarantine_list){ 0 };
}

static void test_a_record_is_listed_once(void **state)
{
	static struct quarantine list, other;

	(void)state;
	find(&list, 0, 3, true);
	find(&other, 2, 3, true);
	give(&other, &list);
	assert_int_equal(list.all.records, 5);
	assert_true(list.changed);
	list.changed = false;
	find(&other, 0, 5, false); /* lanes have other shards in each pass */
	give(&other, &list);
	assert_int_equal(list.all.records, 5);
	assert_int_equal(list.all.more, 0);
	assert_false(list.changed);
}

static void test_what_does_not_fit_counts_in_the_first_pass(void **state)
{
	static struct quarantine list, other;

	(void)state;
	find(&list, 0, QUARANTINE_MAX - 1, true);
	find(&other, 1000, 5, true);
	find(&other, 2000, 2, false);
	give(&other, &list);
	assert_int_equal(list.all.records, QUARANTINE_MAX);
	assert_int_equal(list.all.more, 4);
	find(&other, 1000, 5, false);
	give(&other, &list);
	assert_int_equal(list.all.more, 4);
	find(&other, 3000, QUARANTINE_MAX + 1, true);
	give(&other, &list);
	assert_int_equal(list.all.more, 4 + QUARANTINE_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_record_is_listed_once),
		cmocka_unit_test(test_what_does_not_fit_counts_in_the_first_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
