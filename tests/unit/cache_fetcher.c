/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how objects of a store are copied into the cache. */
#include "core/base/paths.h"
#include "drivers/cache/fetcher.c" // NOLINT(bugprone-suspicious-include): not of a library

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/cache_folder.h"

static struct cache *cache;
static uint32_t succeeded, failed, woken;

static int setup(void **state)
{
	return cache_folder_setup(state, &cache);
}

static int teardown(void **state)
{
	cache_closep(&cache);
	return scratch_teardown(state);
}

static int note(void *context, const struct cache_object *object, int r, const struct error *err)
{
	(void)context;
	(void)object;
	(void)err;
	succeeded += r == 0;
	failed += r < 0;
	return 0;
}

static void wake(void *context)
{
	(void)context;
	woken++;
}

/* The source names the size of an object, which may be any number: no range follows the first that fails. */
static void test_ends_at_an_error(void **state)
{
	static const struct config config = { 0 };
	const struct store_pin huge = { .bytes = UINT64_C(1) << 40, .etag = "0123" }, empty = { .etag = "4" };
	CLEANUP(fetcher_closep) struct fetcher *fetcher = NULL;
	char url[PATH_BYTES];
	struct config_store where = {
		.url = url, .endpoint = "http://h:1", .region = "", .credential = "", .ca_file = ""
	};
	struct error err = { 0 };

	(void)state;
	if (!cache) /* the file system has no extended attributes, as tmpfs before Linux 6.6 */
		skip();
	(void)snprintf(url, sizeof(url), "file://%s/source", root);
	if (fetcher_open(&config, &where, cache, 16, &fetcher, &err) < 0)
		fail_msg("%s", err.text);
	fetcher->where.url = "s3://b";
	fetcher_set_awake(fetcher, wake, NULL);
	assert_int_equal(fetcher_add(fetcher, "huge", &huge, note, NULL, &err), 0);
	assert_in_range(fetcher->head, 1, fetcher->ranges + 1);
	assert_int_equal(fetcher_add(fetcher, "empty", &empty, note, NULL, &err), 0);
	assert_int_equal(fetcher_finish(fetcher, note, NULL, &err), 0);
	assert_int_equal(failed, 1);
	assert_int_equal(succeeded, 1);
	assert_true(woken > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ends_at_an_error, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
