/* SPDX-License-Identifier: Apache-2.0 */
/* Where the user and the password of a URL are, and a refused value without them. */
#include "core/base/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_login(void **state)
{
	static const struct {
		const char *authority, *host;
	} cases[] = {
		{ "", "" },
		{ "host/a@b", "host/a@b" },
		{ "host:80/a@b", "host:80/a@b" },
		{ "[::1]/a@b", "[::1]/a@b" },
		{ "[::1]:80/a@b", "[::1]:80/a@b" },
		{ "host?a=b@c", "host?a=b@c" },
		{ "user@host", "host" },
		{ "user:word@host:80/a@b", "host:80/a@b" },
		{ "user:wo@rd@[::1]:80/a", "[::1]:80/a" },
		{ "user:wo/rd@host/a", "host/a" },
		{ "user:w?o#rd@host/a", "host/a" },
		{ ":@host", "host" },
		{ "user:word", "user:word" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].authority;

		assert_string_equal(text + url_login_bytes(text, strlen(text)), cases[i].host);
	}
	assert_int_equal(url_login_bytes("host, a:b@c", 4), 0);
}

static void test_without(void **state)
{
	static const struct {
		const char *text, *clean;
	} cases[] = {
		{ "", "" },
		{ "s3://bucket/a@b", "s3://bucket/a@b" },
		{ "one@example.org", "one@example.org" },
		{ "smtp://bob:pw@relay:25", "smtp://***@relay:25" },
		{ "smtp://bob:p/w@relay", "smtp://***@relay" },
		{ "smtp://bob:p@w/x@relay", "smtp://***@relay" },
		{ "bob:pw@relay:25", "***@relay:25" },
		{ "smtp:/bob:pw@relay", "***@relay" },
		{ "https://token@host/a", "https://***@host/a" },
	};
	char out[64], few[16];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(url_without_login(cases[i].text, strlen(cases[i].text), out, sizeof(out)),
				    cases[i].clean);
	assert_string_equal(url_without_login("http://bob:hunter2@relay.example", 32, few, sizeof(few)),
			    "http://***@rela");
}

static void test_below(void **state)
{
	char out[64], few[12];

	(void)state;
	assert_string_equal(url_below(out, sizeof(out), "s3://bucket/a", "%s/%d", "b", 1),
			    "s3://bucket/a/b/1");
	assert_string_equal(url_below(out, sizeof(out), "s3://bucket/a/", "b"), "s3://bucket/a/b");
	assert_string_equal(url_below(out, sizeof(out), "file:///", "b"), "file:///b");
	assert_string_equal(url_below(few, sizeof(few), "file:///a", "bcd"), "file:///a/b");
	assert_string_equal(url_below(few, sizeof(few), "file:///abcdef", "g"), "file:///abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
