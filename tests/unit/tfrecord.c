/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tfrecord.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define FILE_MAX 512

static const char *const payloads[] = { "", "a", "kiln trains every night",
					"0123456789012345678901234567890123456789" };
#define PAYLOADS (sizeof(payloads) / sizeof(payloads[0]))

static uint64_t small_file(uint8_t *out)
{
	uint64_t used = 0;

	for (size_t i = 0; i < PAYLOADS; i++)
		used += tfrecord_frame(payloads[i], strlen(payloads[i]), out + used);
	return used;
}

/* Reads until the end or an error. Returns the number of correct records in the right order, or -1 for a
 * wrong one. */
static int read_back(const uint8_t *file, uint64_t bytes, int *ret_end)
{
	uint64_t offset = 0;
	int good = 0;

	for (;;) {
		struct tfrecord record;
		struct error err;
		int r = tfrecord_next(file, bytes, offset, FILE_MAX, &record, &err);

		*ret_end = r;
		if (r < 0)
			return good;
		if ((size_t)good >= PAYLOADS || record.bytes != strlen(payloads[good]) ||
		    memcmp(record.data, payloads[good], record.bytes) != 0)
			return -1;
		good++;
		offset = record.next;
	}
}

static void round_trip(void **state)
{
	uint8_t file[FILE_MAX];
	int end;

	(void)state;
	assert_int_equal(read_back(file, small_file(file), &end), PAYLOADS);
	assert_int_equal(end, -ENODATA);
}

static void every_truncation_is_seen(void **state)
{
	uint8_t file[FILE_MAX];
	uint64_t bytes = small_file(file), boundary = 0;
	size_t whole = 0;

	(void)state;
	for (uint64_t n = 0; n < bytes; n++) {
		int end, good = read_back(file, n, &end);

		if (whole < PAYLOADS && n == boundary + TFRECORD_FRAME_BYTES + strlen(payloads[whole]))
			boundary = n, whole++;
		assert_int_equal(good, whole);
		assert_int_equal(end, n == boundary ? -ENODATA : -EBADMSG);
	}
}

static void every_bit_flip_is_seen(void **state)
{
	uint8_t file[FILE_MAX];
	uint64_t bytes = small_file(file);

	(void)state;
	for (uint64_t bit = 0; bit < bytes * 8; bit++) {
		int end, good;

		file[bit / 8] ^= (uint8_t)(1u << bit % 8);
		good = read_back(file, bytes, &end);
		assert_in_range(good, 0, PAYLOADS - 1);
		assert_true(end == -EBADMSG || end == -EILSEQ);
		file[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

/* After a wrong data CRC the next record can still be read. */
static void goes_on_behind_bad_data(void **state)
{
	uint8_t file[FILE_MAX];
	uint64_t bytes = small_file(file);
	struct tfrecord record;
	struct error err;

	(void)state;
	file[TFRECORD_FRAME_BYTES + TFRECORD_HEADER_BYTES] ^= 1;
	assert_int_equal(tfrecord_next(file, bytes, TFRECORD_FRAME_BYTES, FILE_MAX, &record, &err), -EILSEQ);
	assert_int_equal(tfrecord_next(file, bytes, record.next, FILE_MAX, &record, &err), 0);
	assert_memory_equal(record.data, payloads[2], record.bytes);
}

static void a_length_is_bounded(void **state)
{
	uint8_t file[FILE_MAX];
	uint64_t bytes = small_file(file);
	struct tfrecord record;
	struct error err;

	(void)state;
	assert_int_equal(tfrecord_next(file, bytes, TFRECORD_FRAME_BYTES, 0, &record, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "at most 0 fit"));
}

/* One frame as TensorFlow writes it (tf.io.TFRecordWriter, the record "kiln"). */
static void known_frame(void **state)
{
	static const uint8_t expected[] = { 4,    0,    0,   0,   0,   0,   0,    0,    0x42, 0x45,
					    0x52, 0x04, 'k', 'i', 'l', 'n', 0xf7, 0xf4, 0xcd, 0xce };
	uint8_t frame[sizeof(expected)];

	(void)state;
	assert_int_equal(tfrecord_frame("kiln", 4, frame), sizeof(expected));
	assert_memory_equal(frame, expected, sizeof(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_frame),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(every_truncation_is_seen),
		cmocka_unit_test(every_bit_flip_is_seen),
		cmocka_unit_test(goes_on_behind_bad_data),
		cmocka_unit_test(a_length_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
