/* SPDX-License-Identifier: Apache-2.0 */
/* The order of versions, and the floor below which no update goes. */
#include "core/box/floor.h"
#include "core/base/paths.h"
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The sequence of semver.org, 11, and versions with missing parts, which RAUC's min-bundle-version accepts.
 * Each is older than the next. */
static const char *const ascending[] = {
	"0.0.0-0",       "0.1.0",
	"0.9",           "0.10",
	"1.0.0-0",       "1.0.0-alpha",
	"1.0.0-alpha.1", "1.0.0-alpha.beta",
	"1.0.0-beta",    "1.0.0-beta.2",
	"1.0.0-beta.11", "1.0.0-rc.1",
	"1.0.0-rc-2",    "1.0.0",
	"1.0.1",         "1.2.0",
	"1.10.0",        "2",
	"2026.11",       "18446744073709551615.0.0",
};

/* Pairs of equal versions: build metadata does not count, missing parts are 0. */
static const char *const equal[][2] = {
	{ "1.2.0", "1.2" },
	{ "1.0.0", "1" },
	{ "1.2.3+abc", "1.2.3" },
	{ "1.2.3-rc.1+a.b", "1.2.3-rc.1+c" },
	{ "1.2.3-rc.01", "1.2.3-rc.1" },
	{ "01.2", "1.2" },
};

static const char *const no_version[] = {
	"",
	"v1.0.0",
	"1.",
	".1",
	"1..2",
	"1.2.3.4",
	"1.0.0-",
	"1.0.0-+x",
	"1.0.0 ",
	" 1.0",
	"-1",
	"+1",
	"1,0",
	"18446744073709551616.0.0",
	"1.0.0-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

static int sign(int order)
{
	return (order > 0) - (order < 0);
}

static void versions_are_in_order(void **state)
{
	const size_t count = sizeof(ascending) / sizeof(ascending[0]);
	struct error err = { 0 };
	int order = 0;

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			print_message("# %s %s\n", ascending[i], ascending[k]);
			assert_int_equal(semver_compare(ascending[i], ascending[k], &order, &err), 0);
			assert_int_equal(sign(order), (i > k) - (i < k));
		}
	for (size_t i = 0; i < sizeof(equal) / sizeof(equal[0]); i++) {
		assert_int_equal(semver_compare(equal[i][0], equal[i][1], &order, &err), 0);
		assert_int_equal(order, 0);
	}
}

static void what_is_no_version_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(no_version) / sizeof(no_version[0]); i++) {
		struct error err = { 0 };
		int order;

		assert_int_equal(semver_compare(no_version[i], "1.0.0", &order, &err), -EINVAL);
		assert_non_null(strstr(err.text, no_version[i]));
		assert_non_null(strstr(err.text, "expected MAJOR.MINOR.PATCH"));
		assert_int_equal(semver_compare("1.0.0", no_version[i], &order, NULL), -EINVAL);
	}
}

/* ---- The floor ---- */

static void put(enum path which, const char *tail, const char *text)
{
	char path[PATH_BYTES], folder[PATH_BYTES];

	(void)path_of(which, tail, path);
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	assert_int_equal(path_make(folder, NULL), 0);
	assert_int_equal(file_write_durable(path, text, strlen(text), NULL), 0);
}

static void runs(const char *version)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "ID=debian\nIMAGE_VERSION=%s\nBUILD_ID=x\n", version);
	put(PATH_OS_RELEASE, NULL, text);
}

static void assert_floor(const char *expected)
{
	char found[SEMVER_BYTES];

	assert_string_equal(floor_get(found), expected);
}

static void no_image_has_no_floor(void **state)
{
	(void)state;
	assert_floor("");
	assert_int_equal(floor_check("0.0.1", NULL), 0);
	assert_int_equal(floor_check("no version", NULL), 0);
	assert_int_equal(floor_raise(NULL), 0);
	assert_floor("");
}

static void the_floor_only_rises(void **state)
{
	struct error err = { 0 };

	(void)state;
	put(PATH_ESP_SLOTS, "x", "");
	runs("1.2.0");
	assert_int_equal(floor_raise(&err), 0);
	assert_floor("1.2.0");
	runs("1.3.0");
	assert_floor("1.3.0");
	runs("1.1.0"); /* the other slot */
	assert_int_equal(floor_raise(&err), 0);
	assert_floor("1.2.0");
	assert_int_equal(floor_check("1.2.0", &err), 0);
	assert_int_equal(floor_check("1.10", &err), 0);
	assert_int_equal(floor_check("1.1.9", &err), -EPERM);
	assert_non_null(strstr(err.text, "version 1.1.9 is older than 1.2.0"));
	assert_non_null(strstr(err.text, "--allow-downgrade"));
	assert_int_equal(floor_check("1.2.0-rc.1", &err), -EPERM);
	assert_int_equal(floor_check("newest", &err), -EINVAL);
}

/* A torn or foreign file: the version that runs is the floor, and the next good boot writes the file anew. */
static void a_damaged_file_counts_as_none(void **state)
{
	static const char *const damaged[] = { "", "\n", "1.9.0x\n", "\xff\xfe\n",
					       "99999999999999999999.0\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		put(PATH_ESP_SLOTS, "floor", damaged[i]);
		runs("1.2.0");
		assert_floor("1.2.0");
		assert_int_equal(floor_raise(NULL), 0);
		runs("1.0.0");
		assert_floor("1.2.0");
	}
}

static void each_update_opens_the_floor_anew(void **state)
{
	char folder[PATH_BYTES];

	(void)state;
	(void)path_of(PATH_DOWNGRADE, NULL, folder);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(path_make(folder, NULL), 0);
	assert_false(floor_is_open());
	assert_int_equal(floor_allow(false, NULL), 0);
	assert_int_equal(floor_allow(true, NULL), 0);
	assert_true(floor_is_open());
	assert_int_equal(floor_allow(false, NULL), 0);
	assert_false(floor_is_open());
}

#define ON_A_NODE(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_in_order),  cmocka_unit_test(what_is_no_version_is_refused),
		ON_A_NODE(no_image_has_no_floor),         ON_A_NODE(the_floor_only_rises),
		ON_A_NODE(a_damaged_file_counts_as_none), ON_A_NODE(each_update_opens_the_floor_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
