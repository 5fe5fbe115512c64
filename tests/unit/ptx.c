/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX of a program for sm_90a: marks go away, the target changes, all else stays. */
#include "drivers/gpu/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

static void expect(const char *ptx, const char *wanted)
{
	char *text = ptx_for_sm_90a(ptx, strlen(ptx));

	if (wanted)
		assert_string_equal(text, wanted);
	else
		assert_null(text);
	free(text);
}

static void test_marks_go_away(void **state)
{
	(void)state;
	expect(".version 9.0\n.target sm_90\n.entry k {\n\t//sm_90a wgmma.fence;\n\tret; // end\n\t//sm_90a "
	       "a;\n}\n",
	       ".version 9.0\n.target sm_90a\n.entry k {\n\twgmma.fence;\n\tret; // end\n\ta;\n}\n");
	expect(".target sm_90, debug\n//sm_90a a;", ".target sm_90a, debug\na;");
}

static void test_other_text_is_left_alone(void **state)
{
	(void)state;
	expect(".version 9.0\n.target sm_90\nret;\n", NULL); /* no mark */
	expect(".version 9.0\n.target sm_80\n\t//sm_90a a;\n", NULL);
	expect("\177ELF//sm_90a a", NULL);
	expect("", NULL);
}

/* A binary may contain zeros, and need not end with one. */
static void test_bytes_after_a_zero(void **state)
{
	static const char ptx[] = ".target sm_90\n\0//sm_90a x";
	char *text = ptx_for_sm_90a(ptx, sizeof(ptx) - 1);

	(void)state;
	assert_non_null(text);
	assert_memory_equal(text, ".target sm_90a\n\0x", sizeof(".target sm_90a\n\0x"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks_go_away),
		cmocka_unit_test(test_other_text_is_left_alone),
		cmocka_unit_test(test_bytes_after_a_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
