/* SPDX-License-Identifier: Apache-2.0 */
/* The account's figures, and the reuse of memory. */
#include "fetchd/memory/buffer.c" // NOLINT(bugprone-suspicious-include): its statics

#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SMALL UINT64_C(100000)    /* from malloc() */
#define LARGE (UINT64_C(3) << 20) /* mapped */

static struct budget budget;
static struct error err;

static void expect(const struct buffer *buffer, uint64_t capacity, uint64_t room)
{
	assert_int_equal(buffer->output.capacity, capacity);
	assert_int_equal(buffer->allocated, room);
}

static void test_rests(void **state)
{
	static const uint64_t sizes[] = { SMALL, LARGE };

	(void)state;
	budget = (struct budget){ .max = 2 * LARGE };
	for (size_t i = 0; i < 2; i++) {
		uint64_t bytes = sizes[i];
		struct buffer buffer;
		const uint8_t *place;

		buffer_init(&buffer, &budget);
		assert_int_equal(buffer_grow(&buffer, 0, bytes, &err), 0);
		place = buffer.output.data;
		memset(buffer.output.data, 7, bytes);
		buffer_rest(&buffer);
		expect(&buffer, 0, bytes);
		assert_int_equal(budget.memory, 0);
		/* The kernel has taken the pages: zeros when they are read again. */
		assert_int_equal(buffer.output.data[bytes / 2], 0);

		assert_int_equal(buffer_grow(&buffer, 0, bytes / 2, &err), 0);
		expect(&buffer, bytes / 2, bytes);
		assert_int_equal(budget.memory, bytes / 2);
		memset(buffer.output.data, 9, bytes / 2);
		assert_int_equal(buffer_grow(&buffer, bytes / 2, bytes, &err), 0);
		assert_ptr_equal(buffer.output.data, place);
		assert_int_equal(buffer.output.data[bytes / 2 - 1], 9);
		assert_int_equal(budget.memory, bytes);
		buffer_drop(&buffer);
		expect(&buffer, 0, 0);
		assert_int_equal(budget.memory, 0);
	}
}

static void test_taken_for_a_place(void **state)
{
	struct buffer buffer, taken, place = buffer_spare(LARGE);
	const uint8_t *bytes;

	(void)state;
	budget = (struct budget){ .max = LARGE };
	buffer_init(&buffer, &budget);
	assert_int_equal(buffer_grow(&buffer, 0, SMALL, &err), 0);
	memset(buffer.output.data, 7, SMALL);
	bytes = buffer.output.data;

	taken = buffer_take(&buffer, place);
	assert_ptr_equal(taken.output.data, bytes);
	assert_int_equal(taken.output.data[SMALL - 1], 7);
	expect(&buffer, 0, LARGE);
	assert_int_equal(budget.memory, 0);
	assert_int_equal(buffer_grow(&buffer, 0, LARGE, &err), 0);
	assert_ptr_equal(buffer.output.data, place.output.data);

	buffer_rest(&taken);
	expect(&taken, 0, SMALL);
	assert_int_equal(budget.memory, LARGE);
	buffer_drop(&taken);
	buffer_drop(&buffer);
	assert_int_equal(budget.memory, 0);
}

static void test_expected(void **state)
{
	struct buffer buffer;
	const uint8_t *place;

	(void)state;
	budget = (struct budget){ .max = LARGE };
	buffer_init(&buffer, &budget);
	buffer_expect(&buffer, LARGE);
	expect(&buffer, 0, LARGE);
	assert_int_equal(budget.memory, 0);
	place = buffer.output.data;
	buffer_expect(&buffer, SMALL);
	assert_int_equal(buffer_grow(&buffer, 0, SMALL, &err), 0);
	assert_ptr_equal(buffer.output.data, place);
	buffer_expect(&buffer, 2 * LARGE);
	expect(&buffer, 0, 2 * LARGE);
	assert_int_equal(budget.memory, 0);
	buffer_drop(&buffer);
}

/* Memory beyond the account's limit is a file on disk, wherever it is requested. */
static void test_spilled(void **state)
{
	struct buffer buffer, taken;

	(void)state;
	budget = (struct budget){ .max = SMALL };
	buffer_init(&buffer, &budget);
	buffer_expect(&buffer, LARGE);
	assert_int_equal(buffer_grow(&buffer, 0, LARGE, &err), 0);
	assert_true(buffer.spilled);
	assert_int_equal(budget.memory, 0);
	assert_int_equal(budget.spilled, LARGE);
	taken = buffer_take(&buffer, (struct buffer){ 0 });
	assert_int_equal(budget.spilled, 0);
	buffer_rest(&taken);
	expect(&taken, 0, 0);
	assert_null(taken.output.data);
	assert_int_equal(buffer_grow(&buffer, 0, LARGE, &err), 0);
	buffer_rest(&buffer);
	expect(&buffer, 0, 0);
	assert_int_equal(budget.spilled, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rests),
		cmocka_unit_test(test_taken_for_a_place),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_spilled),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
