/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tfrecord.h"
#include "data/crc32c.h"
#include "data/inflate.h"

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

/* Reads until the end or an error. Returns the records that were right and in place, -1 when a wrong one came
 * through. */
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

/* RFC 3720 B.4 and the check value of the CRC catalogue. */
static void known_answers(void **state)
{
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(crc32c(0, bytes, 32), 0x46dd794e);
}

static void instruction_equals_tables(void **state)
{
	static uint8_t bytes[5000];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 13);
	for (uint64_t n = 0; n < sizeof(bytes); n += n < 1600 ? 1 : 97) {
		assert_int_equal(crc32c(0, bytes, n), crc32c_portable(0, bytes, n));
		assert_int_equal(crc32c(crc32c(0, bytes, n / 3), bytes + n / 3, n - n / 3),
				 crc32c(0, bytes, n));
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

/* A wrong data CRC leaves the record behind it reachable. */
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

static void gzip_round_trip_and_members(void **state)
{
	uint8_t file[FILE_MAX], two[2 * FILE_MAX], *packed, *again, *plain;
	uint64_t bytes = small_file(file), packed_bytes, again_bytes, plain_bytes;

	(void)state;
	assert_int_equal(gzip_all(file, bytes, 6, &packed, &packed_bytes, NULL), 0);
	assert_int_equal(gzip_all(file, bytes, 6, &again, &again_bytes, NULL), 0);
	assert_int_equal(packed_bytes, again_bytes);
	assert_memory_equal(packed, again, packed_bytes);
	assert_int_equal(compression_of(packed, packed_bytes), COMPRESSION_GZIP);
	assert_int_equal(compression_of(file, bytes), COMPRESSION_NONE);
	memcpy(two, packed, packed_bytes);
	memcpy(two + packed_bytes, packed, packed_bytes);
	assert_int_equal(
		inflate_all(two, 2 * packed_bytes, COMPRESSION_GZIP, 1 << 20, &plain, &plain_bytes, NULL), 0);
	assert_int_equal(plain_bytes, 2 * bytes);
	assert_memory_equal(plain + bytes, file, bytes);
	free(plain);
	free(packed);
	free(again);
}

/* Whatever bit of a gzip file flips: an error, or the same records. */
static void every_gzip_flip_is_seen_or_harmless(void **state)
{
	uint8_t file[FILE_MAX], *packed;
	uint64_t bytes = small_file(file), packed_bytes;

	(void)state;
	assert_int_equal(gzip_all(file, bytes, 6, &packed, &packed_bytes, NULL), 0);
	for (uint64_t bit = 0; bit < packed_bytes * 8; bit++) {
		uint8_t *plain = NULL;
		uint64_t plain_bytes;
		int r, end = -EBADMSG;

		packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (compression_of(packed, packed_bytes) == COMPRESSION_GZIP) {
			r = inflate_all(packed, packed_bytes, COMPRESSION_GZIP, 1 << 20, &plain, &plain_bytes,
					NULL);
			if (r == 0)
				assert_int_equal(read_back(plain, plain_bytes, &end), PAYLOADS);
			free(plain);
		} else {
			assert_int_equal(read_back(packed, packed_bytes, &end), 0);
			assert_int_equal(end, -EBADMSG);
		}
		packed[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	free(packed);
}

static void a_truncated_gzip_keeps_its_prefix(void **state)
{
	uint8_t file[FILE_MAX], *packed, *plain;
	uint64_t bytes = small_file(file), packed_bytes, plain_bytes;
	struct error err;

	(void)state;
	assert_int_equal(gzip_all(file, bytes, 6, &packed, &packed_bytes, NULL), 0);
	for (uint64_t n = 0; n < packed_bytes; n++) {
		plain = NULL;
		assert_int_equal(
			inflate_all(packed, n, COMPRESSION_GZIP, 1 << 20, &plain, &plain_bytes, &err),
			-EBADMSG);
		assert_in_range(plain_bytes, 0, bytes);
		assert_memory_equal(plain, file, plain_bytes);
		free(plain);
	}
	assert_int_equal(
		inflate_all(packed, packed_bytes, COMPRESSION_GZIP, bytes - 1, &plain, &plain_bytes, &err),
		-E2BIG);
	free(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(instruction_equals_tables),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(every_truncation_is_seen),
		cmocka_unit_test(every_bit_flip_is_seen),
		cmocka_unit_test(goes_on_behind_bad_data),
		cmocka_unit_test(a_length_is_bounded),
		cmocka_unit_test(gzip_round_trip_and_members),
		cmocka_unit_test(every_gzip_flip_is_seen_or_harmless),
		cmocka_unit_test(a_truncated_gzip_keeps_its_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
