/* SPDX-License-Identifier: Apache-2.0 */
/* Characters that a manual page and a completion must escape, in texts and rows made for this test. */
#include "cli/manual/completion.h"
#include "cli/manual/roff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct page {
	FILE *out;
	char *text;
	size_t bytes;
};

static void open_page(struct page *page)
{
	page->out = open_memstream(&page->text, &page->bytes);
	assert_non_null(page->out);
}

static void expect_page(struct page *page, const char *expected)
{
	assert_int_equal(fclose(page->out), 0);
	assert_string_equal(page->text, expected);
	free(page->text);
}

static void test_escapes(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "plain", ".PP\nplain\n" },
		{ "--option", ".PP\n\\-\\-option\n" },
		{ ".conf at the start", ".PP\n\\&.conf at the start\n" },
		{ "'quoted'", ".PP\n\\&'quoted'\n" },
		{ "not. at 'the' start", ".PP\nnot. at 'the' start\n" },
		{ "two\n.lines", ".PP\ntwo\n\\&.lines\n" },
		{ "a\\b", ".PP\na\\eb\n" },
		{ "run `kiln start` now", ".PP\nrun \\fBkiln start\\fR now\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct page page;

		open_page(&page);
		roff_paragraph(page.out, "%s", cases[i].text);
		expect_page(&page, cases[i].expected);
	}
}

static void test_sentence(void **state)
{
	struct page page;

	(void)state;
	open_page(&page);
	roff_sentence(page.out, "show the run");
	expect_page(&page, ".PP\nShow the run.\n");
	open_page(&page);
	roff_item(page.out, "--json", "as %s", "JSON");
	expect_page(&page, ".TP\n.B \\-\\-json\nas JSON\n");
}

static const struct verb_option some_options[] = {
	{ "split", VERB_CHOICE, "SPLIT", "the box's split", "train|test", 0, 0, false },
	{ "config", VERB_FILE, "FILE", "a file", NULL, 0, 0, false },
	{ "all", VERB_FLAG, NULL, "all", NULL, 0, 0, false },
	{ 0 },
};
static const struct verb sub_row = { .name = "show", .summary = "show it", .options = { some_options } };
static const struct verb *const some_subs[] = { &sub_row, NULL };
static const struct verb some_row = { .name = "thing", .summary = "things", .subs = some_subs };
static const struct verb *const some_verbs[] = { &some_row, NULL };

static void expect_in(const char *shell, const char *line)
{
	struct page page;

	open_page(&page);
	assert_true(completion_print(shell, some_verbs, page.out));
	assert_int_equal(fclose(page.out), 0);
	if (!strstr(page.text, line))
		fail_msg("%s: expected the line %s in\n%s", shell, line, page.text);
	free(page.text);
}

static void test_completion(void **state)
{
	(void)state;
	for (int zsh = 0; zsh < 2; zsh++) {
		const char *shell = zsh ? "zsh" : "bash";

		expect_in(shell, "\t'') echo thing ;;\n\t'thing') echo show ;;\n");
		expect_in(shell, "\t'thing show') echo --split --config --all --help ;;\n");
		expect_in(shell, "\t'thing show --split') echo train test ;;\n");
		expect_in(shell, "\t'thing show --config') echo @file ;;\n");
	}
	expect_in("fish", "= 'thing show'\" -l split -x -a 'train test' -d 'the box\\'s split'\n");
	expect_in("fish", "= 'thing show'\" -l config -rF -d 'a file'\n");
	expect_in("fish", "= 'thing'\" -a show -d 'show it'\n");
	assert_false(completion_print("tcsh", some_verbs, stderr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_sentence),
		cmocka_unit_test(test_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
