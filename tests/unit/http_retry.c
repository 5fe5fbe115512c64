/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/error.h"
#include "drivers/http/range.h"
#include "drivers/http/retry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_statuses(void **state)
{
	static const struct {
		long status;
		enum retry_class class;
		int result;
	} cases[] = {
		{ 200, RETRY_NEVER, 0 },           { 301, RETRY_NEVER, 0 },
		{ 400, RETRY_NEVER, -EINVAL },     { 401, RETRY_NEVER, -EACCES },
		{ 403, RETRY_NEVER, -EACCES },     { 404, RETRY_NEVER, -ENOENT },
		{ 407, RETRY_NEVER, -EACCES },     { 408, RETRY_SERVER, 0 },
		{ 410, RETRY_NEVER, -ENOENT },     { 412, RETRY_NEVER, 0 },
		{ 416, RETRY_NEVER, 0 },           { 500, RETRY_SERVER, 0 },
		{ 501, RETRY_NEVER, -EOPNOTSUPP }, { 502, RETRY_SERVER, 0 },
		{ 504, RETRY_SERVER, 0 },          { 505, RETRY_NEVER, 0 },
		{ 429, RETRY_SLOW_DOWN, 0 },       { 503, RETRY_SLOW_DOWN, 0 },
		{ 511, RETRY_SERVER, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(retry_class_of_status(cases[i].status), cases[i].class);
		assert_int_equal(retry_errno_of_status(cases[i].status), cases[i].result);
	}
}

static void test_codes(void **state)
{
	static const struct {
		CURLcode code;
		bool connected;
		enum retry_class class;
		int result;
	} cases[] = {
		{ CURLE_COULDNT_RESOLVE_HOST, false, RETRY_CONNECT, -EHOSTUNREACH },
		{ CURLE_COULDNT_CONNECT, false, RETRY_CONNECT, -ECONNREFUSED },
		{ CURLE_OPERATION_TIMEDOUT, false, RETRY_CONNECT, -ETIMEDOUT },
		{ CURLE_OPERATION_TIMEDOUT, true, RETRY_TIMEOUT, -ETIMEDOUT },
		{ CURLE_RECV_ERROR, true, RETRY_RESET, -ECONNRESET },
		{ CURLE_PARTIAL_FILE, true, RETRY_RESET, -ECONNRESET },
		{ CURLE_GOT_NOTHING, true, RETRY_RESET, -ECONNRESET },
		{ CURLE_UNSUPPORTED_PROTOCOL, true, RETRY_MALFORMED, -EBADMSG },
		{ CURLE_WEIRD_SERVER_REPLY, true, RETRY_MALFORMED, -EBADMSG },
		{ CURLE_FILESIZE_EXCEEDED, true, RETRY_MALFORMED, -EBADMSG },
		{ CURLE_PEER_FAILED_VERIFICATION, false, RETRY_CONNECT, -ENOKEY },
		{ CURLE_SSL_ISSUER_ERROR, false, RETRY_CONNECT, -ENOKEY },
		{ CURLE_SSL_CACERT_BADFILE, false, RETRY_NEVER, -EINVAL },
		{ CURLE_BAD_CONTENT_ENCODING, true, RETRY_MALFORMED, -EIO }, /* not in the table */
		{ CURLE_FAILED_INIT, false, RETRY_NEVER, -EIO },
		{ CURLE_BAD_FUNCTION_ARGUMENT, false, RETRY_NEVER, -EIO },
		{ CURLE_BAD_FUNCTION_ARGUMENT, true, RETRY_MALFORMED, -EIO }, /* of the answer */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(retry_class_of_curl(cases[i].code, cases[i].connected), cases[i].class);
		assert_int_equal(retry_errno_of_curl(cases[i].code), cases[i].result);
	}
}

static void test_refusals(void **state)
{
	(void)state;
	assert_int_equal(retry_class_of_refusal(-EBADMSG), RETRY_MALFORMED);
	assert_int_equal(retry_class_of_refusal(-ENONET), RETRY_MALFORMED);
	assert_int_equal(retry_class_of_refusal(-ESTALE), RETRY_NEVER);
	assert_int_equal(retry_class_of_refusal(-EFBIG), RETRY_NEVER);
	assert_int_equal(retry_class_of_refusal(0), RETRY_NEVER);
}

static void test_delays(void **state)
{
	(void)state;
	for (uint32_t failures = 0; failures < 100; failures++) {
		uint64_t doubled = (uint64_t)RETRY_BASE_MS << (failures < 20 ? failures : 20),
			 most = doubled < RETRY_CAP_MS ? doubled : RETRY_CAP_MS;

		assert_int_equal(retry_delay_ms(failures, 0, 0), 0);
		assert_int_equal(retry_delay_ms(failures, most, 0), most);
		assert_int_equal(retry_delay_ms(failures, most + 1, 0), 0);
		assert_true(retry_delay_ms(failures, UINT64_MAX, 0) <= most);
	}
	/* A Retry-After of the server is a lower bound for the jitter, and has an upper bound of its own. */
	assert_int_equal(retry_delay_ms(0, 0, 3), 3000);
	assert_int_equal(retry_delay_ms(0, RETRY_BASE_MS, 3), 3000 + RETRY_BASE_MS);
	assert_int_equal(retry_delay_ms(0, 0, UINT64_MAX), RETRY_AFTER_S_MAX * 1000);
}

static void test_ranges(void **state)
{
	const uint64_t unknown = HTTP_RANGE_UNKNOWN;
	const struct {
		const char *text;
		int code;
		uint64_t first, last, total;
	} cases[] = {
		{ "bytes 0-9/10", 0, 0, 9, 10 },
		{ "Bytes 5-5/6", 0, 5, 5, 6 },
		{ "bytes 0-9/*", 0, 0, 9, unknown },
		{ "bytes */10", 0, unknown, unknown, 10 },
		{ "bytes 0-18446744073709551613/18446744073709551614", 0, 0, UINT64_MAX - 2, UINT64_MAX - 1 },
		{ "", -EBADMSG, 0, 0, 0 },
		{ "bytes", -EBADMSG, 0, 0, 0 },
		{ "bytes ", -EBADMSG, 0, 0, 0 },
		{ "items 0-9/10", -EBADMSG, 0, 0, 0 },
		{ "bytes 9-0/10", -EBADMSG, 0, 0, 0 },
		{ "bytes 0-10/10", -EBADMSG, 0, 0, 0 },
		{ "bytes 0-9", -EBADMSG, 0, 0, 0 },
		{ "bytes 0-9/", -EBADMSG, 0, 0, 0 },
		{ "bytes -9/10", -EBADMSG, 0, 0, 0 },
		{ "bytes 0-/10", -EBADMSG, 0, 0, 0 },
		{ "bytes +0-9/10", -EBADMSG, 0, 0, 0 },
		{ "bytes 0 -9/10", -EBADMSG, 0, 0, 0 },
		{ "bytes 0-9/10 ", -EBADMSG, 0, 0, 0 },
		{ "bytes 0-9/10,", -EBADMSG, 0, 0, 0 },
		{ "bytes 0-18446744073709551616/*", -EBADMSG, 0, 0, 0 }, /* 2^64 */
		/* this total is UINT64_MAX, Kiln's value for an unknown total */
		{ "bytes 0-9/18446744073709551615", -EBADMSG, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_range range = { 0 };

		assert_int_equal(http_range_parse(cases[i].text, &range), cases[i].code);
		assert_int_equal(range.first, cases[i].first);
		assert_int_equal(range.last, cases[i].last);
		assert_int_equal(range.total, cases[i].total);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses), cmocka_unit_test(test_codes),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_delays),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
