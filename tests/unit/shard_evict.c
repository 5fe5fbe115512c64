/* SPDX-License-Identifier: Apache-2.0 */
/* What the cache evicts for another shard: ranks by the next use, and the space that it may use. */
#include "drivers/cache/cache.h"

static uint64_t free_on_disk;
static uint64_t test_free_bytes(const struct cache *cache)
{
	(void)cache;
	return free_on_disk;
}
#define cache_free_bytes test_free_bytes
#include "fetchd/cache/shard_evict.c" // NOLINT(bugprone-suspicious-include): its statics
#undef cache_free_bytes
#include "fetchd/cache/shard_object.c" // NOLINT(bugprone-suspicious-include)

#include "core/base/paths.h"
#include "data/order.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define EPOCHS 2u
#define TRAIN  6u

static struct windows windows = { .ahead = 1 };
static struct fetch fetch = { .windows = &windows, .lock = PTHREAD_MUTEX_INITIALIZER };
static struct shard_evictor evictor = { .fetch = &fetch };

static int setup(void **state)
{
	const struct plan_settings settings = { .order_version = ORDER_VERSION,
						.lanes = 1,
						.sources = 2,
						.seed = 44,
						.epochs = EPOCHS,
						.window_shards = 1,
						.batch_rows = 1,
						.weight = { 1, 1 } };
	struct plan_writer *writer;
	char path[PATH_BYTES];

	if (scratch_setup(state) != 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/plan", root);
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	for (uint32_t source = 0; source < 2; source++)
		for (int split = 0; split < SPLIT_MAX; split++)
			for (unsigned i = 0; i < (split == SPLIT_TRAIN ? TRAIN : 2); i++) {
				char key[32];
				const struct plan_shard shard = {
					.key = key, .etag = "", .version = "", .bytes = 1, .source = source
				};

				(void)snprintf(key, sizeof(key), "%d-%u", split, i);
				assert_int_equal(plan_add(writer, (enum split)split, &shard, NULL), 0);
			}
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &fetch.plan, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	plan_close(fetch.plan);
	return scratch_teardown(state);
}

/* A tag names source, split and index, and is neither of the two special tags. */
static void a_tag_is_a_shard(void **state)
{
	(void)state;
	evictor.cursor = (struct cursor){ .split = SPLIT_TRAIN, .segment = 1 };
	evictor.cursor.place[0] = (struct cursor_place){ .pass = 1, .window = 3 };
	evictor.cursor.place[1] = (struct cursor_place){ .pass = 4, .window = 2 };
	for (uint32_t source = 0; source < 2; source++)
		for (int split = 0; split < SPLIT_MAX; split++)
			for (uint64_t i = 0; i < plan_source_shards(fetch.plan, source, (enum split)split);
			     i++)
				for (uint32_t held = 0; held <= 2; held++) {
					uint64_t tag = tag_of(source, (enum split)split, i);
					double use = next_use(fetch.plan, &evictor.cursor, source,
							      (enum split)split, i, held);

					assert_true(use_of(&evictor, tag, held) == use);
					assert_true(tag != TAG_NONE && tag != CACHE_PINNED);
				}
	assert_true(tag_of(PLAN_SOURCES_MAX - 1, SPLIT_TEST, PLAN_SHARDS_MAX - 1) != CACHE_PINNED);
	assert_true(tag_of(0, SPLIT_TRAIN, 0) != TAG_NONE);
}

static double rank_of(uint64_t tag, int64_t age_s)
{
	const struct cache_held held = { .tag = tag, .used_s = (int64_t)time(NULL) - age_s };

	return rank(&evictor, &held);
}

/* The train shard of an epoch's window. */
static uint64_t train_tag(uint64_t epoch, uint64_t window)
{
	return tag_of(0, SPLIT_TRAIN, order_shard(44, 0, epoch, TRAIN, window));
}

static void the_latest_use_ranks_highest(void **state)
{
	(void)state;
	evictor.rank_below = 0;
	evictor.cursor = (struct cursor){ .split = SPLIT_TRAIN, .segment = 0 };
	evictor.cursor.place[0] = (struct cursor_place){ .window = 2 };
	assert_true(rank_of(train_tag(0, 2), 0) < 0); /* in use: never */
	for (uint64_t window = 3; window + 1 < TRAIN; window++)
		assert_true(rank_of(train_tag(0, window), 0) < rank_of(train_tag(0, window + 1), 0));
	/* A shard that was used in this epoch already comes after all that are still to come. */
	assert_true(rank_of(train_tag(0, 0), 0) > rank_of(train_tag(0, TRAIN - 1), 0));
	assert_true(rank_of(train_tag(0, 0), 0) < RANK_NEVER);
}

static void files_without_a_use_come_first_by_age(void **state)
{
	uint64_t done;

	(void)state;
	evictor.rank_below = 0;
	evictor.cursor = (struct cursor){ .split = SPLIT_TRAIN, .segment = EPOCHS - 1 };
	evictor.cursor.place[0] = (struct cursor_place){ .pass = EPOCHS - 1, .window = 3 };
	done = train_tag(EPOCHS - 1, 0);
	assert_true(rank_of(done, 0) >= RANK_NEVER);
	assert_true(rank_of(done, 1000) > rank_of(done, 10));
	assert_true(rank_of(TAG_NONE, 0) > rank_of(done, 1000));
	assert_true(rank_of(TAG_NONE, 1000) > rank_of(TAG_NONE, 10));
	/* A clock that was set back: a file of the future counts as new. */
	assert_true(rank_of(TAG_NONE, -1000) >= RANK_STRANGER);
	/* For a shard that the run does not read again: files of other runs only. */
	evictor.rank_below = RANK_STRANGER - 1;
	assert_true(rank_of(done, 1000) < 0);
	assert_true(rank_of(train_tag(EPOCHS - 1, 5), 0) < 0);
	assert_true(rank_of(TAG_NONE, 0) > 0);
}

static void the_disk_has_the_last_word(void **state)
{
	static const struct {
		uint64_t budget, spare, left, listed, usable;
	} cases[] = {
		{ 100, 0, 1000, 0, 100 },    /* the budget */
		{ 100, 950, 1000, 0, 50 },   /* 50 more until the spare space is touched */
		{ 100, 1000, 1000, 30, 30 }, /* not a byte more than there is */
		{ 100, 1010, 1000, 30, 20 }, /* the disk is too full already */
		{ 100, 1030, 1000, 30, 0 },  { 100, 9999, 0, 30, 0 },
		{ 20, 0, 1000, 30, 20 }, /* the budget was made smaller */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fetch.run.config.fetch.cache_bytes = cases[i].budget;
		fetch.run.config.fetch.cache_spare_bytes = cases[i].spare;
		free_on_disk = cases[i].left;
		evictor.list.bytes = cases[i].listed;
		assert_int_equal(usable_bytes(&evictor), cases[i].usable);
	}
}

/* Decisions that need no eviction. */
static void space_that_is_there_or_can_never_be(void **state)
{
	(void)state;
	fetch.run.config.fetch.cache_bytes = 100;
	fetch.run.config.fetch.cache_spare_bytes = 0;
	free_on_disk = 1000;
	evictor.list = (struct cache_list){ .bytes = 60 };
	assert_true(evict_for(&evictor, 40, train_tag(0, 0)));
	assert_false(evict_for(&evictor, 101, train_tag(0, 0)));
	/* 41 do not fit, and the list has no file to evict. */
	assert_false(evict_for(&evictor, 41, train_tag(0, 0)));
	assert_false(evict_for(&evictor, 41, CACHE_PINNED));
	/* Before the run a shard is still to be read: only what is read after it may go. */
	evictor.cursor = (struct cursor){ .split = SPLIT_TRAIN };
	evictor.unread = true;
	assert_false(evict_for(&evictor, 41, train_tag(0, 1)));
	assert_true(rank_of(train_tag(0, 0), 0) < 0 && rank_of(train_tag(0, 1), 0) < 0);
	assert_true(rank_of(train_tag(0, 2), 0) > 0);
	evictor.unread = false;
	assert_false(evict_for(&evictor, 41, train_tag(0, 1)));
	assert_true(rank_of(train_tag(0, 2), 0) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_is_a_shard),
		cmocka_unit_test(the_latest_use_ranks_highest),
		cmocka_unit_test(files_without_a_use_come_first_by_age),
		cmocka_unit_test(the_disk_has_the_last_word),
		cmocka_unit_test(space_that_is_there_or_can_never_be),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
