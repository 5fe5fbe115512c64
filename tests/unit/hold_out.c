/* SPDX-License-Identifier: Apache-2.0 */
#include "data/hold_out.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define SHARDS_MAX 1000u

/* Computed by another implementation of the two published functions, in Python. */
static void golden_hashes(void **state)
{
	(void)state;
	assert_int_equal(hold_out_hash(""), UINT64_C(0xf52a15e9a9b5e89b));
	assert_int_equal(hold_out_hash("train-00000-of-00010.tfrecord.gz"), UINT64_C(0x1ece3e2f4da4c69));
	assert_int_equal(hold_out_hash("train-00001-of-00010.tfrecord.gz"), UINT64_C(0x5428651a64ea9b9f));
	assert_int_equal(hold_out_hash("a/b \xc3\xa4"), UINT64_C(0xf24fae7d3e3fa0b));
}

static void hash_keys(const char *form, uint64_t shards, uint64_t hash[static SHARDS_MAX])
{
	for (uint64_t i = 0; i < shards; i++) {
		char key[64];

		(void)snprintf(key, sizeof(key), "%s-%05" PRIu64 ".tfrecord", form, i);
		hash[i] = hold_out_hash(key);
	}
}

static uint64_t held_out(const uint64_t *hash, uint64_t shards, uint64_t percent)
{
	const uint64_t bound = hold_out_bound(hash, shards, percent);
	uint64_t count = 0;

	for (uint64_t i = 0; i < shards; i++)
		count += hash[i] < bound;
	return count;
}

/* Shards arrive one by one, in the order of their names. Once a shard is below the bound, no shard that was
 * there before changes its side. */
static void no_shard_changes_its_side(void **state)
{
	uint64_t hash[SHARDS_MAX];
	bool side[SHARDS_MAX];
	uint64_t settled = 0;

	(void)state;
	hash_keys("day", SHARDS_MAX, hash);
	for (uint64_t shards = 1; shards <= SHARDS_MAX; shards++) {
		const uint64_t bound = hold_out_bound(hash, shards, 10);

		for (uint64_t i = 0; settled && i + 1 < shards; i++)
			assert_int_equal(hash[i] < bound, side[i]);
		for (uint64_t i = 0; i < shards; i++)
			side[i] = hash[i] < bound;
		settled += bound == UINT64_MAX / 100 * 10;
	}
	assert_true(settled > SHARDS_MAX - 50);
}

static void share_is_about_the_percentage(void **state)
{
	static const char *const forms[] = { "day", "train", "part", "a/b", "" };
	uint64_t hash[SHARDS_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		hash_keys(forms[i], SHARDS_MAX, hash);
		assert_in_range(held_out(hash, SHARDS_MAX, 10), 60, 140);
		assert_in_range(held_out(hash, SHARDS_MAX, 90), 860, 940);
	}
}

/* However few shards there are: one trains, and one validates where there are two. */
static void both_sides_have_a_shard(void **state)
{
	uint64_t hash[SHARDS_MAX];

	(void)state;
	hash_keys("day", SHARDS_MAX, hash);
	assert_int_equal(hold_out_bound(hash, 0, 10), 0);
	for (uint64_t percent = 0; percent <= 90; percent += 10) {
		assert_int_equal(held_out(hash, 1, percent), 0);
		for (uint64_t shards = 2; shards < 20; shards++)
			assert_in_range(held_out(hash, shards, percent), percent > 0,
					percent ? shards - 1 : 0);
	}
}

/* The rule of the article, take and skip: the last shards. */
static void last_shards(void **state)
{
	static const struct {
		uint64_t shards, percent, held_out;
	} cases[] = { { 0, 10, 0 },  { 1, 10, 0 },  { 1, 90, 0 }, { 2, 10, 1 },    { 10, 10, 1 },
		      { 14, 10, 1 }, { 15, 10, 2 }, { 2, 90, 1 }, { 100, 90, 90 }, { 100, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(hold_out_last(cases[i].shards, cases[i].percent), cases[i].held_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_hashes),
		cmocka_unit_test(no_shard_changes_its_side),
		cmocka_unit_test(share_is_about_the_percentage),
		cmocka_unit_test(both_sides_have_a_shard),
		cmocka_unit_test(last_shards),
	};

	return cmocka_run_group_tests_name("hold_out", tests, NULL, NULL);
}
