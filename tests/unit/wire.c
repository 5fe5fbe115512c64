/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_varint(void **state)
{
	static const struct {
		const char *label;
		uint32_t field;
		uint64_t value;
		uint64_t bytes;
		uint8_t expected[16];
	} cases[] = {
		{ "zero", 1, 0, 2, { 0x08, 0x00 } },
		{ "one byte's end", 1, 127, 2, { 0x08, 0x7f } },
		/* the example in protobuf's encoding guide */
		{ "two bytes", 1, 150, 3, { 0x08, 0x96, 0x01 } },
		{ "field of two bytes", 16, 1, 3, { 0x80, 0x01, 0x01 } },
		{ "-1 as int64",
		  2,
		  UINT64_MAX,
		  11,
		  { 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t out[16] = { 0 };
		struct wire wire = { out, sizeof(out), 0 };

		wire_varint(&wire, cases[i].field, cases[i].value);
		assert_int_equal(wire.bytes, cases[i].bytes);
		assert_memory_equal(out, cases[i].expected, cases[i].bytes);
	}
}

static void test_others(void **state)
{
	static const uint8_t expected[] = { 0x12, 0x07, 't',  'e', 's', 't',  'i', 'n', 'g',
					    0x19, 0,    0,    0,   0,   0,    0,   0,   0xc0,
					    0x22, 0x00, 0x2d, 0,   0,   0x80, 0x3f };
	uint8_t out[32];
	struct wire wire = { out, sizeof(out), 0 };

	(void)state;
	wire_string(&wire, 2, "testing");
	wire_double(&wire, 3, -2.0);
	wire_bytes(&wire, 4, NULL, 0);
	wire_float(&wire, 5, 1.0f);
	assert_int_equal(wire.bytes, sizeof(expected));
	assert_memory_equal(out, expected, sizeof(expected));
}

static void fill_inner(struct wire *wire, const void *context)
{
	wire_string(wire, 1, context);
}

static void fill_outer(struct wire *wire, const void *context)
{
	wire_message(wire, 2, fill_inner, context);
	wire_varint(wire, 3, 1);
}

static void test_messages(void **state)
{
	static const uint8_t expected[] = { 0x2a, 0x08, 0x12, 0x04, 0x0a, 0x02, 'o', 'k', 0x18, 0x01 };
	uint8_t out[16] = { 0 };
	struct wire wire = { out, sizeof(out), 0 }, count = { 0 };

	(void)state;
	wire_message(&wire, 5, fill_outer, "ok");
	wire_message(&count, 5, fill_outer, "ok");
	assert_int_equal(wire.bytes, sizeof(expected));
	assert_int_equal(count.bytes, sizeof(expected));
	assert_memory_equal(out, expected, sizeof(expected));
}

/* Whatever the capacity, no byte after it is written, and the counted length is right. */
static void test_every_capacity(void **state)
{
	(void)state;
	for (uint64_t capacity = 0; capacity < 32; capacity++) {
		uint8_t out[32];
		struct wire wire = { out, capacity, 0 };

		memset(out, 0xaa, sizeof(out));
		wire_string(&wire, 2, "testing");
		wire_double(&wire, 3, 1.0);
		wire_varint(&wire, 1, 300);
		assert_int_equal(wire.bytes, 21);
		for (uint64_t i = capacity; i < sizeof(out); i++)
			assert_int_equal(out[i], 0xaa);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_varint),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_every_capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
