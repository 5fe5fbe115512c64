/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/format.h"
#include "cli/client/result.h"
#include "cli/verbs/redact.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_number(void **state)
{
	char out[FORMAT_BYTES];

	(void)state;
	assert_string_equal(format_number(1.25, "%.1f", out), "1.2");
	assert_string_equal(format_number(NAN, "%.1f", out), "-");
}

static void test_bytes(void **state)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },           { 999, "999 B" },  { 1000, "1.0 kB" },  { 1500, "1.5 kB" },
		{ 999949, "999.9 kB" }, { 1e6, "1.0 MB" }, { 2.5e9, "2.5 GB" }, { 1e12, "1.0 TB" },
		{ 5e15, "5000.0 TB" },  { NAN, "-" },
	};
	char out[FORMAT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(format_bytes(cases[i].bytes, out), cases[i].text);
}

static void test_span(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{ -5, "0 s" },       { 0, "0 s" },      { 119.4, "119 s" },  { 120, "2 min" },
		{ 7199, "120 min" }, { 7200, "2.0 h" }, { 90000, "25.0 h" }, { NAN, "-" },
	};
	char out[FORMAT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(format_span(cases[i].seconds, out), cases[i].text);
}

static void test_time(void **state)
{
	char out[FORMAT_BYTES];

	(void)state;
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	assert_string_equal(format_time(1769826600, out), "2026-01-31 02:30:00");
	assert_string_equal(format_time(NAN, out), "-");
}

static void test_result(void **state)
{
	static const char text[] = "{\"a\":{\"n\":3,\"t\":\"x\",\"z\":null}}";
	CLEANUP(json_free) cJSON *object = NULL;

	(void)state;
	assert_int_equal(json_parse("test", text, strlen(text), &object, NULL), 0);
	assert_true(client_number(object, "a.n") == 3);
	assert_true(isnan(client_number(object, "a.t")));
	assert_true(isnan(client_number(object, "a.none")));
	assert_string_equal(client_text(object, "a.t"), "x");
	assert_string_equal(client_text(object, "a.z"), "-");
	assert_string_equal(client_text(object, "b.c"), "-");
}

static void test_redact(void **state)
{
	static const struct {
		const char *text, *clean;
	} cases[] = {
		{ "", "" },
		{ "nothing here", "nothing here" },
		{ "https://user:word@host/x", "https://***@host/x" },
		{ "https://user:a@b@host/x", "https://***@host/x" },
		{ "https://host/x@y", "https://host/x@y" },
		{ "https://user:word@host/x@y", "https://***@host/x@y" },
		{ "https://user:wo/rd@host/x, see a@b", "https://***@host/x, see a@b" },
		{ "https://host:80/x@y http://[::1]/x@y", "https://host:80/x@y http://[::1]/x@y" },
		{ "password=hunter2;", "password=***;" },
		{ "secret-access-key: abc", "secret-access-key: ***" },
		{ "{\"token\":\"abc\",\"b\":1}", "{\"token\":\"***\",\"b\":1}" },
		{ "{\\\"secret\\\":\\\"abc\\\"}", "{\\\"secret\\\":\\\"***\\\"}" },
		{ "Secret: a, token: b", "Secret: ***, token: ***" },
		{ "the secret of it", "the secret of it" },
		{ "X-Amz-Signature=0a1b&b=1", "X-Amz-Signature=***&b=1" },
		{ "Authorization: AWS4 Credential=a, Signature=b\nHost: c", "Authorization: ***\nHost: c" },
		{ "\"Authorization: Digest user=\\\"a\\\", b\\nHost: c\"",
		  "\"Authorization: ***\\nHost: c\"" },
		{ "secret_access_key = \"x\"", "secret_access_key = \"***\"" },
		{ "aws_secret_access_key\t=\tx\n", "aws_secret_access_key\t=\t***\n" },
		{ "credential: { secret_key = \\\"a b,c;d\\\"; };",
		  "credential: { secret_key = \\\"***\\\"; };" },
		{ "password = x", "password = ***" },
		{ "password = 'a b' c", "password = '***' c" },
		{ "\"password\" : \"a\\\"b\"}", "\"password\" : \"***\"}" },
		{ "<SecretAccessKey>abc</SecretAccessKey>", "<SecretAccessKey>***</SecretAccessKey>" },
		{ "curl -H 'Bearer x'", "curl -H 'Bearer ***'" },
		{ "Bearer  \tx y", "Bearer  \t*** y" },
		{ "authorization is bearer a.b-c_d=, said it", "authorization is bearer ***, said it" },
		{ "api_key=x client_secret=y&z=1", "api_key=*** client_secret=***&z=1" },
		{ "-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\n",
		  "-----BEGIN EC PRIVATE KEY-----***-----END EC PRIVATE KEY-----\n" },
		{ "-----BEGIN PRIVATE KEY-----\\nMHc", "-----BEGIN PRIVATE KEY-----***" },
		{ "max_tokens = 400, tokens: 5, secrets", "max_tokens = 400, tokens: 5, secrets" },
		{ "password = \"\"", "password = \"\"" },
		{ "password", "password" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(free_ptr) char *clean = redact(cases[i].text);

		assert_string_equal(clean, cases[i].clean);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number), cmocka_unit_test(test_bytes),  cmocka_unit_test(test_span),
		cmocka_unit_test(test_time),   cmocka_unit_test(test_result), cmocka_unit_test(test_redact),
	};

	return cmocka_run_group_tests_name("cli_format", tests, NULL, NULL);
}
