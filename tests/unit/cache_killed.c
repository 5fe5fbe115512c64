/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer killed at any system call leaves an object whole or not at all, and the next writer cleans up.
 * Each case is killed before every call in turn, on a fresh copy of the same folder.
 */
#include "core/base/paths.h"
#include "drivers/cache/internal.h"
#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "killed.h"

static char base[64]; /* the folder of template/ and root/ */
static const char bytes[] = "some bytes of an object";

static void enter(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", base, name);
	(void)setenv("KILN_ROOT", path, 1);
}

static void shell(const char *format)
{
	char command[512];

	(void)snprintf(command, sizeof(command), format, base, base, base);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the name is ours
}

static int open_cache(struct cache **ret_cache, struct error *err)
{
	char folder[PATH_BYTES];

	return cache_open(path_of(PATH_CACHE, NULL, folder), CACHE_WRITE, ret_cache, err);
}

static struct cache_object object(const char *key)
{
	static const struct store_pin pin = { .bytes = sizeof(bytes), .etag = "0123" };

	return (struct cache_object){ "http://h:1", "b", key, &pin };
}

/* ---- The changes ---- */

static int write_one(const char *key, struct error *err)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	CLEANUP(cache_abandon) struct cache_writer writer = { 0 };
	struct cache_object o = object(key);
	int r;

	if ((r = open_cache(&cache, err)) < 0 || (r = cache_create(cache, &o, &writer, err)) < 0 ||
	    (r = cache_append(&writer, bytes, 5, err)) < 0 ||
	    (r = cache_append(&writer, bytes + 5, sizeof(bytes) - 5, err)) < 0)
		return r;
	return cache_commit(&writer, err);
}

static int write_new(struct error *err)
{
	return write_one("a/new", err);
}

/* Writes the same object again, as two processes may do. */
static int write_again(struct error *err)
{
	return write_one("a/old", err);
}

static uint64_t no_place(void *context, const struct cache_item *item)
{
	(void)context;
	(void)item;
	return 0;
}

static double any_rank(void *context, const struct cache_held *held)
{
	(void)context;
	(void)held;
	return 1;
}

static int evict(struct error *err)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	struct cache_list list = { 0 };
	int r;

	if ((r = open_cache(&cache, err)) < 0 || (r = cache_list_read(&list, cache, no_place, NULL, err)) < 0)
		return r;
	(void)cache_list_evict(&list, cache, 1, 1, any_rank, NULL);
	cache_list_done(&list);
	return 0;
}

static int set_pin(struct error *err)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	CLEANUP(cache_pins_done) struct cache_pins pins = { 0 };
	char endpoint[] = "http://h:1", bucket[] = "b", prefix[] = "x";
	int r;

	if ((r = open_cache(&cache, err)) < 0 || (r = cache_pins_load(cache, &pins, err)) < 0 ||
	    (r = cache_pins_set(&pins, &(struct cache_pin){ endpoint, bucket, prefix }, true, err)) < 0)
		return r;
	return cache_pins_save(cache, &pins, err);
}

/* ---- Allowed states afterwards ---- */

/* 1: the object is whole; 0: there is none. */
static int whole(const struct cache *cache, const char *key)
{
	CLEANUP(cache_view_done) struct cache_view view = { 0 };
	struct cache_object o = object(key);
	struct error err = { 0 };
	int r = cache_map(cache, &o, &view, &err);

	if (r < 0)
		fail_msg("%s", err.text);
	if (r == 1) {
		assert_true(cache_is_sound(&view, view.data));
		assert_memory_equal(view.data, bytes, sizeof(bytes));
	}
	return r;
}

static void check(bool old_stays)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	CLEANUP(cache_pins_done) struct cache_pins pins = { 0 };
	struct error err = { 0 };

	assert_int_equal(open_cache(&cache, &err), 0);
	(void)whole(cache, "a/new");
	if (whole(cache, "a/old") == 0)
		assert_false(old_stays);
	assert_int_equal(cache_pins_load(cache, &pins, &err), 0);
	assert_true(pins.count >= 1);
	cache_sweep(cache);
	shell("test -z \"$(find %s/root/data/kiln/cache/new -type f)\"");
	shell("test -z \"$(find -L %s/root/data/kiln/cache/tree -type l)\"");
	assert_int_equal(write_new(&err), 0);
	assert_int_equal(whole(cache, "a/new"), 1);
	shell("test -e %s/root/data/kiln/cache/tree/h:1/b/a/new");
}

static void check_everywhere(int (*act)(struct error *err), bool old_stays)
{
	unsigned call = 0;
	bool killed = true;

	for (; killed && call < KILLED_CALLS_MAX; call++) {
		shell("rm -rf %s/root && cp -a %s/template %s/root");
		killed = killed_at(act, call);
		check(old_stays);
	}
	assert_false(killed);
	assert_true(call > 15);
}

/* ---- The cases ---- */

static bool no_attributes;

static int setup(void **state)
{
	CLEANUP(cache_closep) struct cache *cache = NULL;
	struct error err = { 0 };
	int r;

	(void)state;
	(void)snprintf(base, sizeof(base), "/tmp/kiln-killed-XXXXXX");
	assert_non_null(mkdtemp(base));
	shell("mkdir %s/template");
	enter("template");
	r = open_cache(&cache, &err);
	no_attributes = r == -EOPNOTSUPP;
	if (no_attributes)
		return 0;
	assert_int_equal(write_again(&err), 0);
	assert_int_equal(set_pin(&err), 0);
	enter("root");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shell("rm -rf %s");
	return 0;
}

static void test_write(void **state)
{
	(void)state;
	if (no_attributes)
		skip();
	check_everywhere(write_new, true);
}

static void test_write_again(void **state)
{
	(void)state;
	if (no_attributes)
		skip();
	check_everywhere(write_again, true);
}

static void test_evict(void **state)
{
	(void)state;
	if (no_attributes)
		skip();
	check_everywhere(evict, false);
}

static void test_pins(void **state)
{
	(void)state;
	if (no_attributes)
		skip();
	check_everywhere(set_pin, true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_write),
		TEST(test_write_again),
		TEST(test_evict),
		TEST(test_pins),
	};

	return cmocka_run_group_tests_name("cache_killed", tests, NULL, NULL);
}
