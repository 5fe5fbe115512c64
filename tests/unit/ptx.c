/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX of a program for sm_90a: marks go away, the target changes, all else stays. */
#include "drivers/gpu/ptx.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

static const struct {
	const char *label, *ptx;
	int code;
	const char *wanted;
} cases[] = {
	{ "marks of several lines",
	  ".version 9.0\n.target sm_90\n.entry k {\n\t//sm_90a wgmma.fence;\n\tret; // end\n\t//sm_90a "
	  "a;\n}\n",
	  0, ".version 9.0\n.target sm_90a\n.entry k {\n\twgmma.fence;\n\tret; // end\n\ta;\n}\n" },
	{ "options of the target", ".target sm_90, debug\n//sm_90a a;", 0, ".target sm_90a, debug\na;" },
	{ "another white space", ".target\tsm_90\n//sm_90a a;", 0, ".target\tsm_90a\na;" },
	{ "already for sm_90a", ".target sm_90a\n//sm_90a a;", 0, ".target sm_90a\na;" },
	{ "no mark", ".version 9.0\n.target sm_90\nret;\n", -ENOENT, NULL },
	{ "another target", ".version 9.0\n.target sm_80\n\t//sm_90a a;\n", -ENOEXEC, NULL },
	{ "a longer target", ".target sm_900\n//sm_90a a;", -ENOEXEC, NULL },
	{ "a longer target of sm_90a", ".target sm_90ab\n//sm_90a a;", -ENOEXEC, NULL },
	{ "the target is cut", ".target sm_90", -ENOEXEC, NULL },
	{ "not PTX", "\177ELF//sm_90a a", -ENOEXEC, NULL },
	{ "nothing", "", -ENOEXEC, NULL },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = NULL;
		const int r = ptx_for_sm_90a(cases[i].ptx, strlen(cases[i].ptx), &text);

		if (r != cases[i].code || (r == 0 && strcmp(text, cases[i].wanted) != 0) || (r < 0 && text))
			fail_msg("%s: %d, %s", cases[i].label, r, text ? text : "no text");
		free(text);
	}
}

/* A binary may end with a zero, or with its last byte. */
static void test_end_of_the_text(void **state)
{
	static const char ptx[] = ".target sm_90\n//sm_90a x\0//sm_90a y";
	char *text = NULL;

	(void)state;
	assert_int_equal(ptx_for_sm_90a(ptx, sizeof(ptx), &text), 0);
	assert_string_equal(text, ".target sm_90a\nx");
	free(text);
	assert_int_equal(ptx_for_sm_90a(ptx, strlen(ptx) - 1, &text), 0);
	assert_string_equal(text, ".target sm_90a\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_end_of_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
