/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which files of the cache a preload evicts, and which it must not evict. */
#include "core/base/paths.h"
#include "oneshot/preload/space.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/cache_folder.h"

#define OBJECT_BYTES 1000u
#define STARTED_S    1800000000 /* start of the preload */

static struct config config;
static struct space space;

static struct cache_object object_of(const char *key, struct cache_strings *strings)
{
	static const struct store_pin pin = { .bytes = OBJECT_BYTES, .etag = "0123" };

	return cache_object_of(&config.source[0].store, key, &pin, strings);
}

/* Makes an object in the cache that was last used at this time. */
static void put(const char *key, int64_t used_s)
{
	const struct timespec times[] = { { .tv_sec = used_s }, { .tv_sec = used_s } };
	CLEANUP(cache_abandon) struct cache_writer writer = { 0 };
	struct cache_strings strings;
	struct cache_object object = object_of(key, &strings);
	char name[CACHE_NAME_BYTES], path[PATH_BYTES], tail[128], data[OBJECT_BYTES] = { 0 };
	struct error err;

	if (cache_create(space.cache, &object, &writer, &err) < 0 ||
	    cache_append(&writer, data, sizeof(data), &err) < 0 || cache_commit(&writer, &err) < 0)
		fail_msg("%s", err.text);
	cache_name(&object, name);
	(void)snprintf(tail, sizeof(tail), "objects/%.2s/%s", name, name);
	assert_int_equal(utimensat(AT_FDCWD, path_of(PATH_CACHE, tail, path), times, 0), 0);
}

static bool is_there(const char *key)
{
	struct cache_strings strings;
	struct cache_object object = object_of(key, &strings);
	char name[CACHE_NAME_BYTES], path[PATH_BYTES], tail[128];

	cache_name(&object, name);
	(void)snprintf(tail, sizeof(tail), "objects/%.2s/%s", name, name);
	return access(path_of(PATH_CACHE, tail, path), F_OK) == 0;
}

static bool fits(uint64_t bytes)
{
	struct error err = { 0 };
	bool fits;

	if (space_make(&space, bytes, &fits, &err) < 0)
		fail_msg("%s", err.text);
	return fits;
}

static void look(void)
{
	struct error err = { 0 };

	if (space_look(&space, &err) < 0)
		fail_msg("%s", err.text);
}

static void pin(const char *bucket, const char *prefix)
{
	char endpoint[] = "http://h:1", where[32], what[32];
	const struct cache_pin pin = { endpoint, where, what };
	struct error err;

	(void)snprintf(where, sizeof(where), "%s", bucket);
	(void)snprintf(what, sizeof(what), "%s", prefix);
	assert_int_equal(cache_pins_set(&space.pins, &pin, true, &err), 1);
}

static int setup(void **state)
{
	config = (struct config){ .sources = 1, .fetch.cache_bytes = 3 * OBJECT_BYTES };
	config.source[0].store = (struct config_store){
		.url = "s3://b", .endpoint = "http://h:1", .region = "", .credential = "", .ca_file = ""
	};
	space = (struct space){ .config = &config, .started_s = STARTED_S };
	return cache_folder_setup(state, &space.cache);
}

static int teardown(void **state)
{
	cache_list_done(&space.list);
	cache_pins_done(&space.pins);
	cache_closep(&space.cache);
	return scratch_teardown(state);
}

/* Skips a test if the file system has no extended attributes, as tmpfs before Linux 6.6. */
static void need_cache(void)
{
	if (!space.cache)
		skip();
}

static void test_longest_unused_first(void **state)
{
	(void)state;
	need_cache();
	put("new", STARTED_S - 10);
	put("old", STARTED_S - 1000);
	put("wanted", STARTED_S);
	look();
	assert_true(fits(OBJECT_BYTES));
	assert_true(is_there("new") && is_there("wanted") && !is_there("old"));
	assert_true(fits(2 * OBJECT_BYTES));
	assert_true(is_there("wanted") && !is_there("new"));
	assert_false(fits(3 * OBJECT_BYTES)); /* only needed objects are left */
	assert_true(is_there("wanted"));
}

/* Space for objects that are being fetched counts, although they have no file yet. */
static void test_coming(void **state)
{
	(void)state;
	need_cache();
	put("wanted", STARTED_S);
	look();
	space.coming = OBJECT_BYTES;
	assert_true(fits(OBJECT_BYTES));
	space.coming = 2 * OBJECT_BYTES;
	assert_false(fits(OBJECT_BYTES));
	assert_false(fits(4 * OBJECT_BYTES)); /* more than the cache may use in all */
}

/* The source names the size of an object, which may be any number: no sum with it begins at 0 again. */
static void test_any_size(void **state)
{
	(void)state;
	need_cache();
	put("wanted", STARTED_S);
	put("old", STARTED_S - 1000);
	look();
	space.coming = OBJECT_BYTES;
	assert_false(fits(UINT64_MAX));
	assert_false(fits(UINT64_MAX - OBJECT_BYTES + 1));
	assert_false(fits(UINT64_MAX - 3 * OBJECT_BYTES + 1));
	assert_true(is_there("wanted") && is_there("old"));
}

/* A pin outside the sources protects all objects that it covers. A pin in a source protects what the preload
 * has listed, but not an old version of it, which the listing does not contain. */
static void test_pins(void **state)
{
	(void)state;
	need_cache();
	put("pinned/stale", STARTED_S - 1000);
	put("pinned/wanted", STARTED_S + 1);
	put("other", STARTED_S - 10);
	pin("b", "pinned/");
	look();
	assert_true(fits(2 * OBJECT_BYTES));
	assert_true(is_there("pinned/wanted") && !is_there("pinned/stale") && !is_there("other"));
	put("pinned/stale", STARTED_S - 1000);
	config.source[0].store.url = "s3://another";
	assert_null(space_source_of(&space, &space.pins.pin[0]));
	look();
	assert_false(fits(3 * OBJECT_BYTES));
	config.source[0].store.url = "s3://b";
	assert_true(is_there("pinned/wanted") && is_there("pinned/stale"));
}

static void test_disk(void **state)
{
	(void)state;
	need_cache();
	put("old", STARTED_S - 10);
	look();
	config.fetch.cache_spare_bytes = UINT64_MAX / 2; /* no free byte of the disk may be used */
	assert_true(fits(OBJECT_BYTES));
	assert_false(is_there("old"));
	assert_false(fits(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_longest_unused_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_coming, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any_size, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pins, setup, teardown),
		cmocka_unit_test_setup_teardown(test_disk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
