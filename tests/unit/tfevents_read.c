/* SPDX-License-Identifier: Apache-2.0 */
/* Reads back the scalars that model/formats/tfevents.c writes, and broken bytes. */
#include "model/formats/tfevents_read.h"

#include "core/base/paths.h"
#include "data/tfrecord.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define FILE_MAX (1u << 20)

/* Writes one point of each kind, and reads the only file of the folder. */
static void write_points(char **ret_data, uint64_t *ret_bytes)
{
	const struct tfevents_scalar scalars[] = { { "batch_loss", 0.25f }, { "stall_percent", NAN } };
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS] = { 0 };
	char folder[PATH_BYTES], path[2 * PATH_BYTES] = "";
	struct tfevents *events;
	struct dirent *entry;
	struct error err;
	DIR *list;

	(void)path_of(PATH_SPOOL, NULL, folder);
	assert_int_equal(path_make(folder, &err), 0);
	assert_int_equal(tfevents_open(folder, FILE_MAX, &events, &err), 0);
	assert_int_equal(tfevents_scalars(events, 7, scalars, 2, &err), 0);
	assert_int_equal(tfevents_text(events, "config", 8, "text", &err), 0);
	assert_int_equal(tfevents_histogram(events, "weights", 9, buckets, &err), 0);
	tfevents_close(events);
	list = opendir(folder);
	while ((entry = readdir(list)))
		if (entry->d_name[0] != '.')
			(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
	(void)closedir(list);
	assert_int_equal(file_read(path, FILE_MAX, ret_data, ret_bytes, &err), 0);
}

static void test_scalars(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct tfrecord record = { 0 };
	struct tfevents_point point;
	uint64_t bytes, events = 0, scalars = 0;
	struct error err;

	(void)state;
	write_points(&data, &bytes);
	while (tfrecord_next(data, bytes, record.next, FILE_MAX, &record, &err) == 0) {
		const int count = tfevents_read(record.data, record.bytes, &point);

		events++;
		assert_true(count >= 0);
		if (count == 0)
			continue;
		scalars++;
		assert_int_equal(count, 2);
		assert_int_equal(point.step, 7);
		assert_true(point.wall_s > 1e9);
		assert_string_equal(point.scalar[0].tag, "batch_loss");
		assert_true(point.scalar[0].value == 0.25f && isnan(point.scalar[1].value));
	}
	assert_int_equal(scalars, 1);
	assert_true(events >= 4); /* the version, and one of each kind */
}

/* Every prefix of an event is read or refused, and nothing beyond it is touched. */
static void test_broken(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct tfrecord record = { 0 };
	struct tfevents_point point;
	uint64_t bytes;
	struct error err;

	(void)state;
	write_points(&data, &bytes);
	while (tfrecord_next(data, bytes, record.next, FILE_MAX, &record, &err) == 0)
		for (uint64_t cut = 0; cut < record.bytes; cut++) {
			CLEANUP(free_ptr) char *copy = malloc(cut ? cut : 1);

			memcpy(copy, record.data, cut);
			(void)!tfevents_read(copy, cut, &point);
		}
	assert_int_equal(tfevents_read("\x2b", 1, &point), -EBADMSG); /* a group */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_scalars, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_broken, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
