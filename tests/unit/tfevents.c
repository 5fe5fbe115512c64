/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/tfevents_hparams.h"

#include "core/base/paths.h"
#include "data/tfrecord.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define SEGMENT (1u << 20)

static char folder[64];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/kiln-events-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command); // NOLINT(cert-env33-c): the name is ours
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Reads the n-th file of the folder in a reader's order; returns the number of files. */
static int read_nth(int n, char **ret_data, uint64_t *ret_bytes)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		char path[PATH_BYTES];
		struct error err = { 0 };

		(void)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		if (i == n)
			assert_int_equal(file_read(path, 1 << 20, ret_data, ret_bytes, &err), 0);
		free(entries[i]);
	}
	free(entries);
	return count;
}

/* Returns the event at *offset without its wall time. */
static void expect_event(const char *data, uint64_t bytes, uint64_t *offset, const char *expected,
			 uint64_t expected_bytes)
{
	struct tfrecord record = { 0 };
	struct error err = { 0 };

	assert_int_equal(tfrecord_next(data, bytes, *offset, 1 << 20, &record, &err), 0);
	assert_int_equal(record.bytes, 9 + expected_bytes);
	assert_int_equal(record.data[0], 0x09);
	assert_memory_equal(record.data + 9, expected, expected_bytes);
	*offset = record.next;
}

#define EXPECT_EVENT(text) expect_event(data, bytes, &offset, (text), sizeof(text) - 1)

static int scalar(struct tfevents *events, const char *tag, uint64_t step, float value, struct error *err)
{
	return tfevents_scalars(events, step, &(struct tfevents_scalar){ tag, value }, 1, err);
}

/* The bytes after the wall time must be those that Keras writes. */
static void test_content(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct tfevents *events;
	struct error err = { 0 };
	uint64_t bytes, offset = 0;

	(void)state;
	assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
	assert_int_equal(tfevents_session_start(events, 0, &err), 0);
	assert_int_equal(scalar(events, "epoch_loss", 0, 1.0f, &err), 0);
	assert_int_equal(scalar(events, "epoch_accuracy", 300, 0.5f, &err), 0);
	assert_int_equal(tfevents_text(events, "run/config", 0, "a = 1;", &err), 0);
	tfevents_close(events);
	assert_int_equal(read_nth(0, &data, &bytes), 1);
	EXPECT_EVENT("\x1a\x0d"
		     "brain.Event:2");
	EXPECT_EVENT("\x3a\x02\x08\x01");
	EXPECT_EVENT("\x2a\x13\x0a\x11\x0a\x0a"
		     "epoch_loss"
		     "\x15\x00\x00\x80\x3f");
	EXPECT_EVENT("\x10\xac\x02"
		     "\x2a\x17\x0a\x15\x0a\x0e"
		     "epoch_accuracy"
		     "\x15\x00\x00\x00\x3f");
	/* The bytes that tf.summary.text() writes. */
	EXPECT_EVENT("\x2a\x26\x0a\x24\x0a\x0a"
		     "run/config"
		     "B\x0c\x08\x07\x12\x00"
		     "B\x06"
		     "a = 1;"
		     "J\x08\x0a\x06\x0a\x04"
		     "text");
	assert_int_equal(offset, bytes);
}

/* The bytes that tf.summary.image() writes, without its field of the plugin's name for people. */
/* The bytes after the wall time must be those of TensorBoard's own messages (tests/interop/hparams.py reads
 * such a file with TensorBoard). */
static void test_hparams(void **state)
{
	CLEANUP(json_free)
	cJSON *hparams = cJSON_Parse("{\"lr\":0.5,\"name\":\"sgd\",\"ema\":true,\"list\":[1,2]}");
	CLEANUP(free_ptr) char *data = NULL;
	struct tfevents *events;
	struct error err = { 0 };
	uint64_t bytes, offset = 0;

	(void)state;
	assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
	assert_int_equal(tfevents_hparams_start(events, "s", hparams, 0.5, &err), 0);
	assert_int_equal(tfevents_hparams_end(events, TFEVENTS_FAILURE, &err), 0);
	tfevents_close(events);
	assert_int_equal(read_nth(0, &data, &bytes), 1);
	EXPECT_EVENT("\x1a\x0d"
		     "brain.Event:2");
	EXPECT_EVENT("\x2a\x81\x01\x0a\x7f\x0a\x1c"
		     "_hparams_/session_start_info"
		     "\x42\x06\x08\x01\x12\x02\x12\x00"
		     "\x4a\x57\x0a\x55\x0a\x07"
		     "hparams"
		     "\x12\x4a\x1a\x48"
		     "\x0a\x0f\x0a\x02"
		     "lr"
		     "\x12\x09\x11\x00\x00\x00\x00\x00\x00\xe0\x3f"
		     "\x0a\x0d\x0a\x04"
		     "name"
		     "\x12\x05\x1a\x03"
		     "sgd"
		     "\x0a\x09\x0a\x03"
		     "ema"
		     "\x12\x02\x20\x01"
		     "\x0a\x0f\x0a\x04"
		     "list"
		     "\x12\x07\x1a\x05"
		     "[1,2]"
		     "\x22\x01"
		     "s"
		     "\x29\x00\x00\x00\x00\x00\x00\xe0\x3f");
	assert_int_not_equal(offset, bytes);
}

static void test_images(void **state)
{
	static const struct tfevents_image images[] = { { "PNG one", 7 }, { "PNG 2", 5 } };
	CLEANUP(free_ptr) char *data = NULL;
	struct tfevents *events;
	struct error err = { 0 };
	uint64_t bytes, offset = 0;

	(void)state;
	assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
	assert_int_equal(tfevents_images(events, "pictures", 1, 20, 240, images, 2, &err), 0);
	tfevents_close(events);
	assert_int_equal(read_nth(0, &data, &bytes), 1);
	EXPECT_EVENT("\x1a\x0d"
		     "brain.Event:2");
	EXPECT_EVENT("\x10\x01"
		     "\x2a\x3b\x0a\x39\x0a\x08"
		     "pictures"
		     "B\x21\x08\x07\x12\x04\x12\x02\x08\x04"
		     "B\x02"
		     "20"
		     "B\x03"
		     "240"
		     "B\x07"
		     "PNG one"
		     "B\x05"
		     "PNG 2"
		     "J\x0a\x0a\x08\x0a\x06"
		     "images");
	assert_int_equal(offset, bytes);
}

/* The bytes around the tensor's content, as tf.summary.histogram() writes them. histogram.c tests the
 * content. */
static void test_histogram(void **state)
{
	static const char front[] = "\x10\x03*\x8d\x06\x0a\x8a\x06\x0a\x16"
				    "dense/kernel/histogram"
				    "B\xdf\x05\x08\x02\x12\x08\x12\x02\x08\x1e\x12\x02\x08\x03\"\xd0\x05",
			  back[] = "J\x0e\x0a\x0c\x0a\x0a"
				   "histograms";
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS];
	CLEANUP(free_ptr) char *data = NULL;
	struct tfevents *events;
	struct error err = { 0 };
	char expected[2048];
	uint64_t bytes, offset = 0;

	(void)state;
	histogram_of((const float[]){ 0, 1, 7, 7.5f, 99 }, 5, buckets);
	assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
	assert_int_equal(tfevents_histogram(events, "dense/kernel/histogram", 3, buckets, &err), 0);
	assert_int_equal(tfevents_sync(events, &err), 0);
	tfevents_close(events);
	assert_int_equal(read_nth(0, &data, &bytes), 1);
	memcpy(expected, front, sizeof(front) - 1);
	memcpy(expected + sizeof(front) - 1, buckets, sizeof(buckets));
	memcpy(expected + sizeof(front) - 1 + sizeof(buckets), back, sizeof(back) - 1);
	EXPECT_EVENT("\x1a\x0d"
		     "brain.Event:2");
	expect_event(data, bytes, &offset, expected, sizeof(front) + sizeof(buckets) + sizeof(back) - 2);
	assert_int_equal(offset, bytes);
}

/* One record holds several points. */
static void test_several(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct tfevents *events;
	struct error err = { 0 };
	uint64_t bytes, offset = 0;

	(void)state;
	assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
	assert_int_equal(tfevents_scalars(events, 5,
					  (const struct tfevents_scalar[]){ { "a", 1.0f }, { "b", 0.5f } }, 2,
					  &err),
			 0);
	tfevents_close(events);
	assert_int_equal(read_nth(0, &data, &bytes), 1);
	EXPECT_EVENT("\x1a\x0d"
		     "brain.Event:2");
	EXPECT_EVENT("\x10\x05"
		     "\x2a\x14"
		     "\x0a\x08\x0a\x01"
		     "a"
		     "\x15\x00\x00\x80\x3f"
		     "\x0a\x08\x0a\x01"
		     "b"
		     "\x15\x00\x00\x00\x3f");
	assert_int_equal(offset, bytes);
}

/* Files have a bounded size, each begins with its version, and their names sort in the order of writing. */
static void test_rotates(void **state)
{
	struct tfevents *events;
	struct error err = { 0 };
	int files = 1;
	uint64_t points = 0;

	(void)state;
	assert_int_equal(tfevents_open(folder, 4096, &events, &err), 0);
	for (uint64_t step = 0; step < 500; step++)
		assert_int_equal(scalar(events, "epoch_loss", step, 1.0f, &err), 0);
	tfevents_close(events);
	for (int n = 0; n < files; n++) {
		CLEANUP(free_ptr) char *data = NULL;
		uint64_t bytes = 0, offset = 0;
		struct tfrecord record = { 0 };

		files = read_nth(n, &data, &bytes);
		assert_true(bytes <= 4096 && (n == files - 1 || bytes > 4096 - 100));
		EXPECT_EVENT("\x1a\x0d"
			     "brain.Event:2");
		for (; tfrecord_next(data, bytes, offset, 4096, &record, &err) == 0; offset = record.next) {
			const uint64_t step =
				points < 128 ? record.data[10]
					     : (record.data[10] & 127u) | (uint64_t)record.data[11] << 7;

			assert_true(points == 0 || step == points);
			points++;
		}
		assert_int_equal(offset, bytes);
	}
	assert_int_equal(points, 500);
	assert_true(files >= 6 && files < 12);
}

/* When a process goes back, older files lose the points from there on, and incomplete records. */
static void test_goes_back(void **state)
{
	struct tfevents *events;
	struct error err = { 0 };
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS] = { { 0 } };
	uint64_t left = 0;
	int files = 1;

	(void)state;
	assert_int_equal(tfevents_open(folder, 4096, &events, &err), 0);
	assert_int_equal(tfevents_session_start(events, 0, &err), 0);
	for (uint64_t step = 0; step < 50; step++) {
		assert_int_equal(scalar(events, "epoch_loss", step, 1.0f, &err), 0);
		assert_int_equal(tfevents_histogram(events, "h", step, buckets, &err), 0);
	}
	tfevents_close(events);
	assert_int_equal(tfevents_open(folder, 4096, &events, &err), 0);
	assert_int_equal(tfevents_session_start(events, 21, &err), 0);
	tfevents_close(events);
	for (int n = 0; n < files; n++) {
		CLEANUP(free_ptr) char *data = NULL;
		uint64_t bytes = 0, offset = 0;
		struct tfrecord record = { 0 };

		files = read_nth(n, &data, &bytes);
		EXPECT_EVENT("\x1a\x0d"
			     "brain.Event:2");
		for (; tfrecord_next(data, bytes, offset, 4096, &record, &err) == 0; offset = record.next) {
			const bool start = n == files - 1;

			assert_true(start || record.data[9] != 0x10 || record.data[10] < 21);
			left += !start;
		}
		assert_int_equal(offset, bytes);
	}
	assert_int_equal(left, 1 + 2 * 21);
}

/* The names of files made within one second still sort in the order of writing. */
static void test_names_sort(void **state)
{
	(void)state;
	for (int i = 0; i < 12; i++) {
		CLEANUP(free_ptr) char *data = NULL;
		struct tfevents *events;
		struct error err = { 0 };
		uint64_t bytes, offset = 0;
		char expected[] = { 0x10, (char)(i + 1), 0x3a, 0x02, 0x08, 0x01 };

		assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
		assert_int_equal(tfevents_session_start(events, (uint64_t)i + 1, &err), 0);
		tfevents_close(events);
		assert_int_equal(read_nth(i, &data, &bytes), i + 1);
		EXPECT_EVENT("\x1a\x0d"
			     "brain.Event:2");
		expect_event(data, bytes, &offset, expected, sizeof(expected));
	}
}

static void test_tag_limit(void **state)
{
	char tag[TFEVENTS_TAG_MAX + 2];
	struct tfevents *events;
	struct error err = { 0 };

	(void)state;
	memset(tag, 't', sizeof(tag));
	tag[TFEVENTS_TAG_MAX + 1] = '\0';
	assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
	assert_int_equal(scalar(events, tag, 1, 1, &err), -EINVAL);
	tag[TFEVENTS_TAG_MAX] = '\0';
	assert_int_equal(scalar(events, tag, UINT64_MAX >> 1, 1, &err), 0);
	tfevents_close(events);
}

/* Without space on the disk there is an error, and the file still ends with a whole record. */
static void test_full(void **state)
{
	CLEANUP(free_ptr) char *data = NULL;
	struct tfevents *events;
	struct error err = { 0 };
	struct rlimit old, small = { .rlim_cur = 50 };
	uint64_t bytes, offset = 0;
	int r;

	(void)state;
	assert_int_equal(tfevents_open(folder, SEGMENT, &events, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = scalar(events, "epoch_loss", 0, 1.0f, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(tfevents_session_start(events, 0, &err), 0);
	tfevents_close(events);
	assert_int_equal(read_nth(0, &data, &bytes), 1);
	EXPECT_EVENT("\x1a\x0d"
		     "brain.Event:2");
	EXPECT_EVENT("\x3a\x02\x08\x01");
	assert_int_equal(offset, bytes);
	small.rlim_cur = 8;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = tfevents_open(folder, SEGMENT, &events, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(read_nth(-1, NULL, NULL), 1); /* a file always has a first record */
	assert_int_equal(tfevents_open("/nonexistent", SEGMENT, &events, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hparams, setup, teardown),
		cmocka_unit_test_setup_teardown(test_images, setup, teardown),
		cmocka_unit_test_setup_teardown(test_histogram, setup, teardown),
		cmocka_unit_test_setup_teardown(test_several, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rotates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_goes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_sort, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tag_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
