/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sysexits.h>

#include <cmocka.h>

static void test_set(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_set(&err, -EBADMSG, "shard %d: %s", 3, "torn"), -EBADMSG);
	assert_int_equal(err.code, -EBADMSG);
	assert_string_equal(err.text, "shard 3: torn");
	assert_int_equal(error_set(NULL, -EIO, "nobody listens"), -EIO);
}

static void test_prefix(void **state)
{
	struct error err = { 0 };

	(void)state;
	(void)error_set(&err, -ENOENT, "no such key");
	assert_int_equal(error_prefix(&err, "run %s", "a"), -ENOENT);
	assert_string_equal(err.text, "run a: no such key");
	assert_int_equal(error_prefix(NULL, "x"), 0);
}

/* A sentence that is too long is cut. */
static void test_long_texts_are_cut(void **state)
{
	char text[2 * ERROR_TEXT_MAX];
	struct error err = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)error_set(&err, -EIO, "%s", text);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	(void)error_prefix(&err, "a");
	assert_int_equal(strncmp(err.text, "a: xxx", 6), 0);
	(void)error_prefix(&err, "%s", text);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
}

static void test_exit_codes(void **state)
{
	static const struct {
		int code, exit_code;
	} cases[] = {
		{ -EINVAL, EX_CONFIG },         { -EBADMSG, EX_DATAERR },    { -ESTALE, EX_DATAERR },
		{ -ENOKEY, EX_NOPERM },         { -EDOM, EX_DATAERR },       { -EACCES, EX_NOPERM },
		{ -EPERM, EX_NOPERM },          { -ENOENT, EX_NOPERM },      { -EKEYREJECTED, EX_NOPERM },
		{ -ETIMEDOUT, EX_UNAVAILABLE }, { -ENOSPC, EX_UNAVAILABLE }, { -EIO, EX_UNAVAILABLE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { .code = cases[i].code };

		assert_int_equal(error_exit_code(&err), cases[i].exit_code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_exit_codes),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
