/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments that every program answers or refuses. */
#include "core/base/program.h"
#include "core/base/cleanup.h"
#include "core/base/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ARGUMENTS_MAX 6

static const struct {
	const char *usage;
	const char *arguments[ARGUMENTS_MAX];
	int code;
	const char *words; /* what is printed; NULL = nothing */
} cases[] = {
	{ "", { NULL }, PROGRAM_GOES_ON, NULL },
	{ "", { "--help" }, EX_OK, "Usage: kiln-x\n\nIt works.\n" },
	{ "", { "-h" }, EX_OK, "Usage: kiln-x\n" },
	{ "", { "--version" }, EX_OK, "kiln-x " KILN_VERSION "\n" },
	{ "",
	  { "--drain" },
	  EX_USAGE,
	  "kiln-x: found --drain, expected one of the arguments below\nUsage: kiln-x\n" },
	{ "", { "now" }, EX_USAGE, "kiln-x: found now, expected" },
	{ "", { "-" }, EX_USAGE, "kiln-x: found -, expected" },
	{ "[--drain]", { NULL }, PROGRAM_GOES_ON, NULL },
	{ "[--drain]", { "--drain" }, PROGRAM_GOES_ON, NULL },
	{ "[--drain]", { "--drain", "now" }, EX_USAGE, "found now" },
	{ "[--drain]", { "--drai" }, EX_USAGE, "found --drai" },
	{ "[--drain]", { "--drain]" }, EX_USAGE, "found --drain]" },
	{ "[--drain]", { "--drain", "--help" }, EX_OK, "Usage: kiln-x [--drain]\n" },
	{ "[--rank R --world N]", { "--rank", "0", "--world", "-1" }, PROGRAM_GOES_ON, NULL },
	{ "[--rank R --world N]", { "--world" }, EX_USAGE, "found --world, expected a value after it" },
	{ "[--rank R --world N]", { "--rank=0" }, EX_USAGE, "found --rank=0" },
	{ "[--rank R --world N]", { "--rank R" }, EX_USAGE, "found --rank R" },
	{ "[--config FILE | --from RUN.JSON]", { "--from", "x.json" }, PROGRAM_GOES_ON, NULL },
	{ "[--config FILE | --from RUN.JSON]", { "--config", "--from" }, PROGRAM_GOES_ON, NULL },
	{ "A|B SLOT", { "A", "x" }, PROGRAM_GOES_ON, NULL },
	{ "A|B SLOT", { "A" }, EX_USAGE, "kiln-x: an argument is missing\nUsage: kiln-x A|B SLOT\n" },
	{ "A|B SLOT", { "A", "x", "y" }, EX_USAGE, "found y" },
	{ "A|B SLOT", { "--A", "x" }, EX_USAGE, "found --A" },
	{ "good|bad SLOT", { "bad", "x" }, PROGRAM_GOES_ON, NULL },
	{ "good|bad SLOT",
	  { "worse", "x" },
	  EX_USAGE,
	  "kiln-x: found worse, expected one of good|bad\nUsage: kiln-x good|bad SLOT\n" },
	{ "good|bad SLOT", { "goo", "x" }, EX_USAGE, "found goo, expected one of good|bad" },
	{ "good|bad SLOT", { "good|bad", "x" }, EX_USAGE, "found good|bad, expected" },
	{ "good|bad SLOT", { "", "x" }, EX_USAGE, "expected one of good|bad" },
	{ "[--fast] FILE good|bad", { "x", "--fast", "worse" }, EX_USAGE, "found worse, expected" },
	{ "HOST [ARGUMENT...]", { "a", "--help", "-mca", "b" }, PROGRAM_GOES_ON, NULL },
	{ "HOST [ARGUMENT...]", { "a" }, PROGRAM_GOES_ON, NULL },
	{ "HOST [ARGUMENT...]", { "--help", "a" }, EX_OK, "Usage: kiln-x HOST [ARGUMENT...]\n" },
	{ "HOST [ARGUMENT...]", { "-mca", "a" }, EX_USAGE, "found -mca" },
	{ "HOST [ARGUMENT...]", { NULL }, EX_USAGE, "an argument is missing" },
	{ "check|raise [VERSION]", { "lower" }, EX_USAGE, "found lower, expected one of check|raise" },
	{ "check|raise [VERSION]", { "raise" }, PROGRAM_GOES_ON, NULL },
	{ "check|raise [VERSION]", { "check", "1.2" }, PROGRAM_GOES_ON, NULL },
	{ "check|raise [VERSION]", { "check", "1.2", "3" }, EX_USAGE, "found 3" },
	{ "check|raise [VERSION]", { NULL }, EX_USAGE, "an argument is missing" },
	{ "A [--fast] B", { "a", "--fast", "b" }, PROGRAM_GOES_ON, NULL },
	{ "A [--fast] B", { "--fast", "b" }, EX_USAGE, "an argument is missing" },
};

static void test_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct program program = { "kiln-x", cases[i].usage, "It works." };
		char *argv[ARGUMENTS_MAX + 2] = { "kiln-x" };
		CLEANUP(free_ptr) char *text = NULL;
		size_t bytes;
		FILE *out = stdout, *err = stderr, *said = open_memstream(&text, &bytes);
		int argc = 1, code;

		for (; cases[i].arguments[argc - 1]; argc++)
			argv[argc] = (char *)(uintptr_t)cases[i].arguments[argc - 1];
		assert_non_null(said);
		*(cases[i].code == EX_OK ? &stdout : &stderr) = said;
		code = program_begin(&program, argc, argv);
		stdout = out;
		stderr = err;
		assert_int_equal(fclose(said), 0);
		if (code != cases[i].code || !strstr(text, cases[i].words ? cases[i].words : "") ||
		    (!cases[i].words && *text))
			fail_msg("case %zu: found %d, \"%s\"", i, code, text);
	}
}

static void test_options(void **state)
{
	char *argv[] = { "kiln-x", "--rank", "3", "--drain", NULL };

	(void)state;
	assert_string_equal(program_option(4, argv, "--rank"), "3");
	assert_non_null(program_option(4, argv, "--drain"));
	assert_null(program_option(4, argv, "--world"));
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t number;
	} texts[] = {
		{ "0", true, 0 },    { "100", true, 100 }, { "007", true, 7 },
		{ "101", false, 0 }, { "", false, 0 },     { "-1", false, 0 },
		{ " 1", false, 0 },  { "1 ", false, 0 },   { "1s", false, 0 },
		{ "0x1", false, 0 }, { "+1", false, 0 },   { "18446744073709551617", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		uint64_t number = 0;

		if (program_number(texts[i].text, 100, &number) != texts[i].good || number != texts[i].number)
			fail_msg("\"%s\": found %ju", texts[i].text, (uintmax_t)number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
