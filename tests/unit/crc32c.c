/* SPDX-License-Identifier: Apache-2.0 */
#include "data/crc32c.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Known answers: RFC 3720 B.4, and the check value of the CRC catalogue (reveng.sourceforge.io,
 * CRC-32/ISCSI). */
static const struct {
	const char *label;
	uint8_t first, step;
	uint64_t bytes;
	uint32_t crc;
} patterns[] = {
	{ "nothing", 0, 0, 0, 0 },
	{ "32 zeros", 0, 0, 32, 0x8a9136aa },
	{ "32 ones", 0xff, 0, 32, 0x62a8ab43 },
	{ "rising", 0, 1, 32, 0x46dd794e },
	{ "falling", 31, 0xff, 32, 0x113fdb5c },
	{ "123456789", '1', 1, 9, 0xe3069283 },
};

static void known_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		uint8_t bytes[32];

		for (uint64_t n = 0; n < patterns[i].bytes; n++)
			bytes[n] = (uint8_t)(patterns[i].first + n * patterns[i].step);
		print_message("# %s\n", patterns[i].label);
		assert_int_equal(crc32c(0, bytes, patterns[i].bytes), patterns[i].crc);
		assert_int_equal(crc32c_portable(0, bytes, patterns[i].bytes), patterns[i].crc);
	}
}

static void fill(uint8_t *bytes, uint64_t count)
{
	uint32_t random = 44;

	for (uint64_t i = 0; i < count; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(random >> 24);
	}
}

/* Compares every length up to a few blocks of the fast functions, then some longer ones, at every
 * alignment. */
static void fast_ones_equal_tables(void **state)
{
	static uint8_t bytes[3000];

	(void)state;
	fill(bytes, sizeof(bytes));
	for (uint64_t at = 0; at < 8; at++)
		for (uint64_t n = 0; n + at < sizeof(bytes); n += n < 1100 ? 1 : 37)
			assert_int_equal(crc32c((uint32_t)n, bytes + at, n),
					 crc32c_portable((uint32_t)n, bytes + at, n));
}

static void continues_at_every_byte(void **state)
{
	static uint8_t bytes[1700];
	uint32_t whole;

	(void)state;
	fill(bytes, sizeof(bytes));
	whole = crc32c(0, bytes, sizeof(bytes));
	for (uint64_t n = 0; n <= sizeof(bytes); n++)
		assert_int_equal(crc32c(crc32c(0, bytes, n), bytes + n, sizeof(bytes) - n), whole);
}

static void *crc_of_check(void *crc)
{
	*(uint32_t *)crc = crc32c(0, "123456789", 9);
	return NULL;
}

/* The first calls of a process come from several threads at once (for `tsan`): so this test runs first. */
static void first_calls_of_several_threads(void **state)
{
	pthread_t thread[4];
	uint32_t crc[4] = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, crc_of_check, &crc[i]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		assert_int_equal(crc[i], 0xe3069283);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_calls_of_several_threads),
		cmocka_unit_test(known_answers),
		cmocka_unit_test(fast_ones_equal_tables),
		cmocka_unit_test(continues_at_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
