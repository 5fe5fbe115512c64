/* SPDX-License-Identifier: Apache-2.0 */
#include "data/inflate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PLAIN = 200000 };

/* Compresses, but not to nothing. */
static void fill(uint8_t *plain, unsigned salt)
{
	for (unsigned i = 0; i < PLAIN; i++)
		plain[i] = (uint8_t)((i * i >> 5) + salt * (i % 7));
}

static void buffer_is_kept(void **state)
{
	static uint8_t plain[PLAIN];
	uint8_t *buffer = NULL, *kept = NULL;
	uint64_t capacity = 0, used;

	(void)state;
	for (unsigned salt = 0; salt < 4; salt++) {
		uint64_t bytes = salt == 3 ? 10 : PLAIN, packed_bytes;
		uint8_t *packed;

		fill(plain, salt);
		assert_int_equal(gzip_all(plain, bytes, 6, &packed, &packed_bytes, NULL), 0);
		assert_int_equal(inflate_into(packed, packed_bytes, COMPRESSION_GZIP, 1 << 20, &buffer,
					      &capacity, &used, NULL),
				 0);
		assert_int_equal(used, bytes);
		assert_memory_equal(buffer, plain, bytes);
		if (salt > 0)
			assert_ptr_equal(buffer, kept);
		kept = buffer;
		free(packed);
	}
	free(buffer);
}

/* Every limit below the plain size is refused, none above it, whether the kept buffer is larger or smaller.
 */
static void limit_holds(void **state)
{
	static const uint64_t limits[] = { 0, 1, 1000, PLAIN / 2, PLAIN - 1, PLAIN, PLAIN + 1 };
	static uint8_t plain[PLAIN];
	uint64_t packed_bytes;
	uint8_t *packed;

	(void)state;
	fill(plain, 0);
	assert_int_equal(gzip_all(plain, PLAIN, 6, &packed, &packed_bytes, NULL), 0);
	for (int kept = 0; kept < 2; kept++)
		for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
			uint64_t capacity = kept ? 2 * (uint64_t)PLAIN : 0, used;
			uint8_t *buffer = kept ? malloc(capacity) : NULL;
			struct error err = { 0 };
			int r = inflate_into(packed, packed_bytes, COMPRESSION_GZIP, limits[i], &buffer,
					     &capacity, &used, &err);

			assert_int_equal(r, limits[i] < PLAIN ? -E2BIG : 0);
			assert_true(used <= limits[i]);
			assert_true(r == 0 || strstr(err.text, "inflates to more than"));
			free(buffer);
		}
	free(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(buffer_is_kept), cmocka_unit_test(limit_holds) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
