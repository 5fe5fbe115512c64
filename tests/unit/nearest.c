/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const verbs[] = { "start", "status", "stop", "stalls", "start-from", "go", NULL };

static void test_words(void **state)
{
	static const struct {
		const char *label, *typed, *meant;
	} cases[] = {
		{ "a letter too many", "staart", "start" },
		{ "a letter too few", "stats", "status" },
		{ "another letter", "atart", "start" },
		{ "two letters swapped", "satrt", "start" },
		{ "upper case", "STOP", "stop" },
		{ "another stroke", "start_from", "start-from" },
		{ "the nearest of several", "statu", "status" },
		{ "two mistakes in six letters", "zzatus", "status" },
		{ "half of the letters are others", "zzzpus", NULL },
		{ "another word", "export", NULL },
		{ "one letter", "g", NULL },
		{ "nothing", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nearest nearest = { .typed = cases[i].typed };
		char text[NEAREST_TEXT_BYTES], expected[64] = "";

		for (const char *const *verb = verbs; *verb; verb++)
			nearest_try(&nearest, *verb);
		if (cases[i].meant)
			(void)snprintf(expected, sizeof(expected), "; did you mean \"%s\"?", cases[i].meant);
		if (strcmp(nearest_text(&nearest, text), expected) != 0)
			fail_msg("%s: \"%s\": found \"%s\", expected \"%s\"", cases[i].label, cases[i].typed,
				 text, expected);
	}
}

/* Words from outside may be of any length. */
static void test_long_words(void **state)
{
	char word[200];
	struct nearest nearest = { .typed = word };
	char text[NEAREST_TEXT_BYTES];

	(void)state;
	memset(word, 'a', sizeof(word));
	for (size_t length = sizeof(word) - 1; length > 0; length--) {
		word[length] = '\0';
		nearest_try(&nearest, word);
		nearest_try(&nearest, "status");
	}
	assert_string_equal(nearest_text(&(struct nearest){ .typed = "x" }, text), "");
	nearest = (struct nearest){ .typed = word };
	memset(word, 'a', 63);
	word[63] = '\0';
	nearest_try(&nearest, word);
	assert_string_equal(nearest.word, word);
	word[63] = 'a';
	word[64] = '\0';
	nearest = (struct nearest){ .typed = word };
	nearest_try(&nearest, word);
	assert_string_equal(nearest.word, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_long_words),
	};

	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
