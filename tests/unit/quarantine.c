/* SPDX-License-Identifier: Apache-2.0 */
/* A slot's list of omitted records is the same, whatever order the workers find them in. */
#include "data/quarantine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct ring_quarantined nth(uint32_t n)
{
	return (struct ring_quarantined){
		.row = n < 400 ? n : RING_QUARANTINED_REST, .shard = n % 7, .offset = n, .source = 1
	};
}

/* Visits 0 .. count - 1 in steps of `step`: each number once, because both have no common divisor. */
static struct ring_quarantine noted(uint32_t count, uint32_t step)
{
	struct ring_quarantine page;

	memset(&page, 0, sizeof(page));
	for (uint32_t i = 0; i < count; i++) {
		struct ring_quarantined record = nth(i * step % count);

		quarantine_note(&page, &record);
	}
	return page;
}

static void any_order_gives_the_same(void **state)
{
	static const uint32_t counts[] = { 1, 2, 5, RING_QUARANTINED_MAX, RING_QUARANTINED_MAX + 1, 409 };
	static const uint32_t steps[] = { 1009, 1013, 1019, 1021 }; /* primes */

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct ring_quarantine sorted = noted(counts[i], 1);
		uint32_t kept = counts[i] < RING_QUARANTINED_MAX ? counts[i] : RING_QUARANTINED_MAX;

		assert_int_equal(sorted.records, kept);
		assert_int_equal(sorted.more, counts[i] - kept);
		for (uint32_t k = 0; k < kept; k++) {
			struct ring_quarantined record = nth(k);

			assert_memory_equal(&sorted.record[k], &record, sizeof(record));
		}
		for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
			struct ring_quarantine other = noted(counts[i], steps[k]);

			assert_memory_equal(&other, &sorted, sizeof(sorted));
		}
	}
}

static void read_checks_what_it_gets(void **state)
{
	static struct ring_quarantine page, copy;
	struct error err;

	(void)state;
	page = noted(3, 1);
	assert_int_equal(quarantine_bytes(&page), 8 + 3 * 24);
	assert_int_equal(quarantine_read(&page, 8 + 3 * 24, &copy, &err), 0);
	assert_memory_equal(&copy, &page, sizeof(page));
	assert_int_equal(quarantine_read(&page, 8 + 2 * 24, &copy, &err), -EUCLEAN);
	assert_int_equal(quarantine_read(&page, sizeof(page) + 1, &copy, &err), -EUCLEAN);
	page.records = RING_QUARANTINED_MAX + 1;
	assert_int_equal(quarantine_read(&page, sizeof(page), &copy, &err), -EUCLEAN);
	assert_non_null(
		strstr(err.text, "found 171 records in 4088 bytes, expected 24 bytes each and at most 170"));
	page.records = 0;
	assert_int_equal(quarantine_bytes(&page), 0);
	assert_int_equal(quarantine_read(&page, 0, &copy, &err), 0);
	assert_int_equal(copy.records, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(any_order_gives_the_same),
					    cmocka_unit_test(read_checks_what_it_gets) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
