/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside, as a terminal and a log may show it. */
#include "core/base/visible.h"
#include "core/base/error.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/mistakes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
	const char *label, *text, *line, *lines;
} cases[] = {
	{ "plain", "neg pos 5 %", NULL, NULL },
	{ "other scripts",
	  "gr\xc3\xb6\xc3\x9f"
	  "er \xe6\x98\xa0\xe7\x94\xbb \xf0\x9f\x8e\xac \xd7\xa9",
	  NULL, NULL },
	{ "a backslash stays, so a text is shown twice as once", "c:\\dir \\x1b", NULL, NULL },
	{ "empty", "", NULL, NULL },
	{ "a terminal's commands", "a\033]0;x\007b", "a\\x1b]0;x\\x07b", "a\\x1b]0;x\\x07b" },
	{ "a line end, and a tab", "a\nkiln: b\tc", "a\\x0akiln: b\\x09c", "a\nkiln: b\tc" },
	{ "back to the start of the line", "a\rb\b", "a\\x0db\\x08", "a\\x0db\\x08" },
	{ "delete", "a\x7f", "a\\x7f", "a\\x7f" },
	{ "U+009B, the control sequence introducer",
	  "\xc2\x9b"
	  "2J",
	  "\\xc2\\x9b2J", "\\xc2\\x9b2J" },
	{ "U+0080, U+009F, and U+00A0, which stays", "\xc2\x80\xc2\x9f\xc2\xa0",
	  "\\xc2\\x80\\xc2\\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0" },
	{ "U+2028, U+2029", "\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9",
	  "\\xe2\\x80\\xa8\\xe2\\x80\\xa9" },
	{ "U+202E, which turns the text after it, and U+202F, which stays", "\xe2\x80\xae\xe2\x80\xaf",
	  "\\xe2\\x80\\xae\xe2\x80\xaf", "\\xe2\\x80\\xae\xe2\x80\xaf" },
	{ "U+2066, U+2069, and U+206A, which stays", "\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa",
	  "\\xe2\\x81\\xa6\\xe2\\x81\\xa9\xe2\x81\xaa", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9\xe2\x81\xaa" },
	{ "Latin-1",
	  "gr\xf6\xdf"
	  "er",
	  "gr\\xf6\\xdf"
	  "er",
	  "gr\\xf6\\xdf"
	  "er" },
	{ "an overlong ESC, and a surrogate", "\xc0\x9b\xed\xa0\x80", "\\xc0\\x9b\\xed\\xa0\\x80",
	  "\\xc0\\x9b\\xed\\xa0\\x80" },
	{ "cut in a character", "\xe6\x98", "\\xe6\\x98", "\\xe6\\x98" },
};

static void test_visible(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text, *line = cases[i].line ? cases[i].line : text;
		const char *lines = cases[i].lines ? cases[i].lines : text;
		char out[256], again[256], printed[256] = "";
		FILE *file = fmemopen(printed, sizeof(printed), "w");

		assert_ptr_equal(visible(text, out, sizeof(out)), out);
		if (strcmp(out, line) != 0 || strcmp(visible(out, again, sizeof(again)), line) != 0)
			fail_msg("%s: found %s", cases[i].label, out);
		if (strcmp(visible_lines(text, out, sizeof(out)), lines) != 0)
			fail_msg("%s: found the lines %s", cases[i].label, out);
		visible_print(text, file);
		assert_int_equal(fclose(file), 0);
		assert_string_equal(printed, line);
		assert_int_equal(visible_is(text), strcmp(text, line) == 0);
	}
}

/* Each size gives a beginning of the whole form, cut after a whole character or \xNN. */
static void test_cut(void **state)
{
	static const char text[] = "a\033\xe6\x98\xa0z", whole[] = "a\\x1b\xe6\x98\xa0z";
	static const size_t lengths[] = { 0, 1, 1, 1, 1, 5, 5, 5, 8, 9, 9 };

	(void)state;
	for (size_t size = 1; size <= sizeof(whole) + 1; size++) {
		char *out = malloc(size); /* the sanitizer sees a byte after it */

		(void)visible(text, out, size);
		assert_int_equal(strlen(out), lengths[size - 1]);
		assert_memory_equal(out, whole, strlen(out));
		free(out);
	}
}

/* The longest form. */
static void test_times(void **state)
{
	char out[4 * VISIBLE_TIMES + 1];

	(void)state;
	assert_int_equal(strlen(visible("\x1b\xc2\x9b\xff", out, sizeof(out))), sizeof(out) - 1);
}

static void test_errors(void **state)
{
	struct error err = { 0 };
	struct mistakes mistakes = { .file = "f", .err = &err };

	(void)state;
	(void)error_set(&err, -EBADMSG, "%s: torn", "a\033[2J\nkiln: good");
	assert_string_equal(err.text, "a\\x1b[2J\\x0akiln: good: torn");
	(void)error_prefix(&err, "%s", "\xc2\x9b");
	assert_string_equal(err.text, "\\xc2\\x9b: a\\x1b[2J\\x0akiln: good: torn");
	(void)error_set_lines(&err, -EINVAL, "f:1: x\nf:2: %s", "\033");
	assert_string_equal(err.text, "f:1: x\nf:2: \\x1b");
	(void)error_prefix(&err, "p");
	assert_string_equal(err.text, "p: f:1: x\nf:2: \\x1b");
	mistakes_add(&mistakes, 3, "found %s", "\033\n");
	mistakes_add(&mistakes, 4, "found more");
	assert_string_equal(err.text, "f:3: found \\x1b\\x0a\nf:4: found more");
}

/* A line of a log is one line, and further lines of its text do not look like lines of their own. */
static void test_log(void **state)
{
	const int before = dup(STDERR_FILENO), to = memfd_create("log", 0);
	char text[256] = "";

	(void)state;
	(void)unsetenv("JOURNAL_STREAM");
	assert_true(before >= 0 && dup2(to, STDERR_FILENO) >= 0);
	log_open("t");
	log_err("%s", "a\033[2J\n<0>12:00:00 t: b");
	event_send(&(struct event){ .id = EVENT_SERVICE_FAILED }, "%s", "c\xc2\x9b\nd");
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	assert_true(pread(to, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, " t: a\\x1b[2J\n  <0>12:00:00 t: b\n"));
	assert_non_null(strstr(text, " t: c\\xc2\\x9b\n  d\n"));
	(void)close(before);
	(void)close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_visible), cmocka_unit_test(test_cut),
					    cmocka_unit_test(test_times), cmocka_unit_test(test_errors),
					    cmocka_unit_test(test_log) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
