/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/sigv4.h"
#include "tests/vectors/sigv4.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static size_t count_pairs(const struct sigv4_pair *pairs, size_t room)
{
	size_t count = 0;

	while (count < room && pairs[count].name)
		count++;
	return count;
}

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sigv4_vectors) / sizeof(sigv4_vectors[0]); i++) {
		const struct sigv4_vector *v = &sigv4_vectors[i];
		struct sigv4_key key = { .access_key_id = v->s3 ? "AKIAIOSFODNN7EXAMPLE" : "AKIDEXAMPLE",
					 .secret_access_key = v->s3 ? S3_SECRET : SUITE_SECRET,
					 .region = "us-east-1",
					 .service = v->s3 ? "s3" : "service" };
		char path[512], query[512], authorization[SIGV4_AUTHORIZATION_BYTES], time[SIGV4_TIME_BYTES];
		struct sigv4_request request = { .method = v->method,
						 .path = path,
						 .query = query,
						 .headers = v->headers,
						 .headers_count = count_pairs(v->headers, 6),
						 .payload_sha256 = v->payload_sha256 };
		const char *signature;

		sigv4_time(v->s3 ? 1369353600 : 1440938160, time);
		assert_int_equal(sigv4_encode(v->key, true, path, sizeof(path)), 0);
		assert_int_equal(sigv4_query(v->query, count_pairs(v->query, 3), query, sizeof(query)), 0);
		assert_int_equal(sigv4_authorization(&request, &key, time, authorization), 0);
		signature = strstr(authorization, "Signature=");
		assert_non_null(signature);
		if (strcmp(signature + 10, v->signature) != 0)
			fail_msg("%s: %s", v->name, authorization);
	}
}

/* The signing key of a day is kept, and made anew on another day. */
static void test_days(void **state)
{
	static const char *const times[] = { "20130524T000000Z", "20130524T235959Z", "20130525T000000Z",
					     "20130524T000000Z" };
	static const struct sigv4_pair headers[] = { { "host", "h" } };
	const struct sigv4_request request = { .method = "GET",
					       .path = "/",
					       .query = "",
					       .headers = headers,
					       .headers_count = 1,
					       .payload_sha256 = SIGV4_EMPTY_SHA256 };
	struct sigv4_day day = { 0 };
	struct sigv4_key key = { "AKIAIOSFODNN7EXAMPLE", S3_SECRET, "us-east-1", "s3", NULL }, kept = key;
	char expected[SIGV4_AUTHORIZATION_BYTES], found[SIGV4_AUTHORIZATION_BYTES];

	(void)state;
	kept.day = &day;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_int_equal(sigv4_authorization(&request, &key, times[i], expected), 0);
		assert_int_equal(sigv4_authorization(&request, &kept, times[i], found), 0);
		assert_string_equal(found, expected);
		assert_memory_equal(day.date, times[i], 8);
	}
	/* It is the kept key that signs. */
	memset(day.key, 0, sizeof(day.key));
	assert_int_equal(sigv4_authorization(&request, &kept, times[0], found), 0);
	assert_string_not_equal(found, expected);
}

static void test_encode(void **state)
{
	static const struct {
		const char *text;
		bool keep_slash;
		const char *encoded;
	} cases[] = {
		{ "", true, "" },
		{ "a/b", true, "a/b" },
		{ "a/b", false, "a%2Fb" },
		{ "a b+c%d", true, "a%20b%2Bc%25d" },
		{ "100%25", true, "100%2525" },
		{ "//./..//", true, "//./..//" },
		{ "\xc3\xa9\x01\x7f\xff", true, "%C3%A9%01%7F%FF" },
		{ "-._~!*'()&$@=;:,?", true, "-._~%21%2A%27%28%29%26%24%40%3D%3B%3A%2C%3F" },
	};
	char out[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t exact = strlen(cases[i].encoded) + 1;

		assert_int_equal(sigv4_encode(cases[i].text, cases[i].keep_slash, out, exact), 0);
		assert_string_equal(out, cases[i].encoded);
		assert_int_equal(sigv4_encode(cases[i].text, cases[i].keep_slash, out, exact - 1),
				 -ENAMETOOLONG);
	}
}

static void test_query_order(void **state)
{
	static const struct sigv4_pair pairs[] = {
		{ "a-b", "1" }, { "a", "2" }, { "a", "1=" }, { "uploads", "" }
	};
	char out[128];

	(void)state;
	/* Pairs are sorted by name, then by value, not as text: as text "a=..." comes after "a-b=...". */
	assert_int_equal(sigv4_query(pairs, 4, out, sizeof(out)), 0);
	assert_string_equal(out, "a=1%3D&a=2&a-b=1&uploads=");
	assert_int_equal(sigv4_query(pairs, 0, out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(sigv4_query(pairs, 4, out, 20), -ENAMETOOLONG);
}

static void test_too_long(void **state)
{
	struct sigv4_request request = { .method = "GET", .path = "/", .query = "", .payload_sha256 = "" };
	struct sigv4_key key = { .access_key_id = "id", .region = "r", .service = "s3" };
	char secret[300], region[200], out[SIGV4_AUTHORIZATION_BYTES];

	(void)state;
	memset(secret, 's', sizeof(secret) - 1);
	secret[sizeof(secret) - 1] = 0;
	memset(region, 'r', sizeof(region) - 1);
	region[sizeof(region) - 1] = 0;
	key.secret_access_key = secret;
	assert_int_equal(sigv4_authorization(&request, &key, "20130524T000000Z", out), -ENAMETOOLONG);
	key.secret_access_key = "x";
	assert_int_equal(sigv4_authorization(&request, &key, "20130524T000000Z", out), 0);
	key.region = region;
	assert_int_equal(sigv4_authorization(&request, &key, "20130524T000000Z", out), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),  cmocka_unit_test(test_days),
		cmocka_unit_test(test_encode),   cmocka_unit_test(test_query_order),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
