/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a listing of a source, which may have no end, fills neither the plan's file nor the disk. */
#include <sys/statvfs.h>

/* A disk with as many bytes free as the test says. */
static unsigned long free_bytes = 1ul << 40;

static int free_on_disk(int fd, struct statvfs *ret_disk)
{
	(void)fd;
	*ret_disk = (struct statvfs){ .f_bavail = free_bytes, .f_frsize = 1 };
	return 0;
}

#define fstatvfs free_on_disk
#include "data/plan_write.c" // NOLINT(bugprone-suspicious-include): its statics
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct plan_writer *writer;

static int setup(void **state)
{
	static const struct plan_settings settings = { .sources = 1 };
	char path[PATH_BYTES];

	if (scratch_setup(state) != 0)
		return -1;
	free_bytes = 1ul << 40;
	(void)snprintf(path, sizeof(path), "%s/plan", root);
	return plan_create(path, &settings, &writer, NULL);
}

static int teardown(void **state)
{
	plan_abandon(writer);
	return scratch_teardown(state);
}

static int add(uint32_t number, struct error *err)
{
	char key[16];
	const struct plan_shard shard = { .key = key, .etag = "", .version = "", .bytes = 1 };

	(void)snprintf(key, sizeof(key), "%08u", number);
	return plan_add(writer, SPLIT_TRAIN, &shard, err);
}

static void test_file(void **state)
{
	const uint64_t shard = sizeof(struct plan_entry) + strlen("00000000") + 3;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(add(0, &err), 0);
	writer->header.heap_bytes =
		PLAN_FILE_MAX - sizeof(writer->header) - sizeof(struct plan_entry) - shard;
	assert_int_equal(add(1, &err), 0);
	assert_int_equal(add(2, &err), -EBADMSG);
	assert_non_null(
		strstr(err.text, "after 2 shards the next one makes it longer than 4294967296 bytes"));
}

static void test_disk(void **state)
{
	struct error err = { 0 };
	uint32_t number = 0;
	char expected[80];
	int r = 0;

	(void)state;
	free_bytes = PLAN_SPARE_BYTES;
	assert_int_equal(add(number++, &err), 0);
	while (r == 0 && number < 10 * LOOK_SHARDS)
		r = add(number++, &err);
	assert_int_equal(r, -ENOSPC); /* the heap needs space a second time */
	assert_int_equal(number, LOOK_SHARDS + 1);
	(void)snprintf(expected, sizeof(expected), "no space: after %u shards %" PRIu64 " bytes are free",
		       LOOK_SHARDS, PLAN_SPARE_BYTES);
	assert_non_null(strstr(err.text, expected));
}

static void test_full_disk(void **state)
{
	(void)state;
	free_bytes = PLAN_SPARE_BYTES - 1;
	assert_int_equal(add(0, NULL), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
