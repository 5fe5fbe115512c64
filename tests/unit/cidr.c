/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/cidr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		uint32_t network;
		unsigned prefix;
		uint32_t hosts;
	} good[] = {
		{ "10.7.0.0/24", 0x0a070000, 24, 254 },
		{ "192.0.2.252/30", 0xc00002fc, 30, 2 },
		{ "128.0.0.0/1", 0x80000000, 1, 0x7ffffffe },
	};
	static const char *const bad[] = {
		"",
		"10.7.0.0",
		"10.7.0.0/",
		"10.7.0.0/0",
		"10.7.0.0/31",
		"10.7.0.0/32",
		"10.7.0.1/24",
		"10.7.0.0/024",
		"10.7.0.0/+24",
		"10.7.0.0/24 ",
		"10.7.0.0/24\n",
		"10.7.0/24",
		"10.7.0.00/24",
		"010.7.0.0/24",
		"10.7.0.256/24",
		"fd00::/8",
		"10.7.0.0/99999999",
		"/24",
		" 10.7.0.0/24",
		"10.7.0.0/2x",
		"10.7.0.0//24",
		"110.107.100.200.0/24",
	};
	struct cidr cidr = { 7, 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (cidr_parse(bad[i], &cidr))
			fail_msg("\"%s\" was read", bad[i]);
	assert_true(cidr.network == 7 && cidr.prefix == 7);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (!cidr_parse(good[i].text, &cidr))
			fail_msg("\"%s\" was not read", good[i].text);
		assert_true(cidr.network == good[i].network && cidr.prefix == good[i].prefix);
		assert_true(cidr_hosts(&cidr) == good[i].hosts);
	}
}

static void test_has(void **state)
{
	static const struct {
		const char *address;
		bool has;
	} cases[] = {
		{ "10.7.0.0", false },   { "10.7.0.1", true },  { "10.7.0.254", true },
		{ "10.7.0.255", false }, { "10.7.1.1", false }, { "10.6.255.254", false },
	};
	struct cidr cidr;

	(void)state;
	assert_true(cidr_parse("10.7.0.0/24", &cidr));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[CIDR_TEXT_BYTES];
		uint32_t address;

		assert_true(cidr_parse_address(cases[i].address, &address));
		assert_string_equal(cidr_address(address, text), cases[i].address);
		if (cidr_has(&cidr, address) != cases[i].has)
			fail_msg("%s: found %d", cases[i].address, !cases[i].has);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_has),
	};

	return cmocka_run_group_tests_name("cidr", tests, NULL, NULL);
}
