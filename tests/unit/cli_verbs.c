/* SPDX-License-Identifier: Apache-2.0 */
/* Tests every row of the table of verbs, and the parser that reads the table. */
#include "cli/base/arguments.h"
#include "cli/base/dispatch.h"
#include "cli/base/exit.h"
#include "cli/base/help.h"
#include "cli/verb_list.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Calls `check` for each verb and each sub-verb. */
static void for_each(void (*check)(const struct verb *verb, const struct verb *parent))
{
	for (const struct verb *const *verb = verb_list; *verb; verb++) {
		check(*verb, NULL);
		for (const struct verb *const *sub = (*verb)->subs; sub && *sub; sub++)
			check(*sub, *verb);
	}
}

static void check_phrase(const struct verb *verb, const char *what, const char *phrase)
{
	const size_t length = phrase ? strlen(phrase) : 0;

	if (length < 3 || phrase[length - 1] == '.' || strchr(phrase, '\n'))
		fail_msg("%s: %s: \"%s\" is no phrase", verb->name, what, phrase ? phrase : "");
}

static void check_option(const struct verb *verb, const struct verb_option *option)
{
	check_phrase(verb, option->name, option->help);
	assert_true((option->value == VERB_FLAG) == (option->argument == NULL));
	assert_true((option->value == VERB_CHOICE) == (option->choices != NULL));
	if (option->value == VERB_NUMBER)
		assert_true(option->max > option->min);
	if (strcmp(option->name, "help") == 0 || strcmp(option->name, "host") == 0)
		fail_msg("%s has an option --%s of its own", verb->name, option->name);
}

static void check_row(const struct verb *verb, const struct verb *parent)
{
	struct verb_option option, other;

	check_phrase(verb, "summary", verb_summary(verb));
	assert_true(verb->run || verb->subs);
	assert_true(!verb->otherwise || verb_sub(verb, verb->otherwise));
	assert_true(!parent || !verb->subs);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(!verb->methods[i] || verb_method(verb, i));
	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++) {
		assert_true(i < VERB_OPTIONS_MAX);
		check_option(verb, &option);
		for (uint32_t j = 0; j < i; j++) {
			assert_true(verb_option_at(verb, j, &other));
			if (strcmp(option.name, other.name) == 0)
				fail_msg("%s: --%s is there twice", verb->name, option.name);
		}
	}
	for (const struct verb_operand *operand = verb->operands; operand && operand->name; operand++) {
		assert_true(!operand->repeated || !operand[1].name);
		assert_true(!operand->optional || !operand[1].name || operand[1].optional);
	}
}

static void test_rows(void **state)
{
	(void)state;
	for_each(check_row);
	for (const struct verb *const *verb = verb_list; *verb; verb++)
		for (const struct verb *const *other = verb_list; other != verb; other++)
			assert_string_not_equal((*verb)->name, (*other)->name);
}

static void check_help(const struct verb *verb, const struct verb *parent)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct verb_option option;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	help_print(verb, parent, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, verb->name));
	for (uint32_t i = 0; verb->run && verb_option_at(verb, i, &option); i++) {
		char word[VERB_WORD_BYTES], name[80];

		(void)snprintf(name, sizeof(name), "\n  %s ", verb_option_word(&option, word));
		if (!strstr(text, name))
			fail_msg("the help of %s has no %s", verb->name, word);
	}
	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strcspn(line, "\n") > 100)
			fail_msg("the help of %s has a line of %zu characters: %.60s", verb->name,
				 strcspn(line, "\n"), line);
}

static void test_help(void **state)
{
	(void)state;
	for_each(check_help);
}

/* Returns a value that the parser accepts for this option. */
static const char *good_value(const struct verb_option *option, char out[static 64])
{
	if (option->value == VERB_NUMBER)
		(void)snprintf(out, 64, "%" PRIu64, option->min);
	else if (option->value == VERB_CHOICE)
		(void)snprintf(out, 64, "%.*s", (int)strcspn(option->choices, "|"), option->choices);
	else
		(void)snprintf(out, 64, "text");
	return out;
}

/* Parses a command line of one option, followed by as many operands as the row needs. */
static int parse_one(const struct verb *verb, const char *first, const char *second,
		     struct arguments *ret_arguments)
{
	char word[][16] = { "verb", "a", "b" }, option[128], value[64];
	char *argv[8] = { word[0], option };
	int argc = 2;

	(void)snprintf(option, sizeof(option), "%s", first);
	if (second) {
		(void)snprintf(value, sizeof(value), "%s", second);
		argv[argc++] = value;
	}
	for (const struct verb_operand *operand = verb->operands; operand && operand->name; operand++)
		if (!operand->optional)
			argv[argc++] = word[operand - verb->operands + 1];
	return arguments_parse(verb, verb->name, argc, argv, ret_arguments);
}

static void check_parser(const struct verb *verb, const struct verb *parent)
{
	struct arguments arguments;
	struct verb_option option;

	(void)parent;
	if (!verb->run)
		return;
	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++) {
		char word[VERB_WORD_BYTES], name[80], value[64];

		(void)snprintf(name, sizeof(name), "--%s", option.name);
		(void)verb_option_word(&option, word);
		assert_null(strchr(word, '_'));
		if (parse_one(verb, name, option.argument ? good_value(&option, value) : NULL, &arguments) !=
		    CLI_OK)
			fail_msg("%s refuses %s", verb->name, name);
		assert_true(arguments_have(&arguments, option.name));
		if (parse_one(verb, word, option.argument ? good_value(&option, value) : NULL, &arguments) !=
		    CLI_OK)
			fail_msg("%s refuses %s", verb->name, word);
		assert_true(arguments_have(&arguments, option.name));
	}
	assert_int_equal(parse_one(verb, "--no-such-option", NULL, &arguments), CLI_USAGE);
	assert_int_equal(parse_one(verb, "-x", NULL, &arguments), CLI_USAGE);
	assert_int_equal(parse_one(verb, "--help", NULL, &arguments), CLI_OK);
	assert_true(arguments.help);
}

static void test_every_option_is_parsed(void **state)
{
	(void)state;
	for_each(check_parser);
}

/* ---- A row of our own ---- */

static const struct verb_option options[] = {
	{ .name = "number", .value = VERB_NUMBER, .argument = "N", .min = 2, .max = 9, .help = "a number" },
	{ .name = "word", .value = VERB_CHOICE, .argument = "W", .choices = "up|down", .help = "a word" },
	{ .name = "text", .value = VERB_TEXT, .argument = "T", .help = "a text" },
	{ .name = "two_words", .value = VERB_TEXT, .argument = "W", .help = "a text" },
	{ .name = "flag", .help = "a flag" },
	{ 0 },
};
static const struct verb_operand operands[] = {
	{ .name = "IN", .value = VERB_FILE },
	{ .name = "OUT", .value = VERB_FILE, .optional = true },
	{ 0 },
};
static char seen[128];

static int run(const struct arguments *arguments)
{
	(void)snprintf(seen, sizeof(seen), "%s", arguments->name);
	return CLI_OK;
}

static const struct verb row = {
	.name = "row", .summary = "a row", .options = { options }, .operands = operands, .run = run
};

/* Words are separated by spaces. */
static int parse(const char *line, struct arguments *ret_arguments)
{
	static char words[256];
	static char *argv[16];
	char *rest = words;
	int argc = 0;

	(void)snprintf(words, sizeof(words), "row %s", line);
	while (rest && argc < 15)
		argv[argc++] = strsep(&rest, " ");
	argv[argc] = NULL;
	return arguments_parse(&row, "row", argc, argv, ret_arguments);
}

static void test_parse(void **state)
{
	static const struct {
		const char *line;
		int code;
	} cases[] = {
		{ "in", CLI_OK },
		{ "in out", CLI_OK },
		{ "in --flag out", CLI_OK },
		{ "--number 2 in", CLI_OK },
		{ "--number=9 in", CLI_OK },
		{ "--num 9 in", CLI_OK },
		{ "--word down in", CLI_OK },
		{ "--text=--flag in", CLI_OK },
		{ "--text -1 in", CLI_OK },
		{ "- in", CLI_OK },
		{ "--text -- in", CLI_USAGE },
		{ "--text --flag in", CLI_USAGE },
		{ "--", CLI_USAGE },
		{ "--n 2 in", CLI_OK },
		{ "-- --flag", CLI_OK },
		{ "--text", CLI_USAGE },
		{ "", CLI_OK },
		{ "in out more", CLI_USAGE },
		{ "--flag", CLI_USAGE },
		{ "--number 1 in", CLI_USAGE },
		{ "--number 10 in", CLI_USAGE },
		{ "--number -1 in", CLI_USAGE },
		{ "--number 5x in", CLI_USAGE },
		{ "--number= in", CLI_USAGE },
		{ "--number 18446744073709551616 in", CLI_USAGE },
		{ "--word sideways in", CLI_USAGE },
		{ "--word up|down in", CLI_USAGE },
		{ "--flag=1 in", CLI_USAGE },
		{ "-f in", CLI_USAGE },
	};
	struct arguments arguments;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(cases[i].line, &arguments) != cases[i].code)
			fail_msg("\"%s\" is %s", cases[i].line, cases[i].code ? "accepted" : "refused");
}

/* Returns the first line that parsing prints; the caller frees it. */
static char *refusal(const char *line)
{
	FILE *const screen = stderr;
	struct arguments arguments;
	char *text = NULL;
	size_t bytes;

	stderr = open_memstream(&text, &bytes);
	assert_non_null(stderr);
	assert_int_equal(parse(line, &arguments), CLI_USAGE);
	assert_int_equal(fclose(stderr), 0);
	stderr = screen;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* The sentence names the option that is wrong, and what the option takes. */
static void test_refusals(void **state)
{
	static const struct {
		const char *line, *words;
	} cases[] = {
		{ "in --number --flag",
		  "--number: found the option --flag instead of a value, expected a whole "
		  "number of 2 .. 9" },
		{ "in --word --number 3",
		  "--word: found the option --number instead of a value, expected one of "
		  "up, down" },
		{ "in --text", "--text: the value is missing, expected T" },
		{ "in --number 10", "--number: found \"10\", expected a whole number of 2 .. 9" },
		{ "in --flag=1", "--flag: found \"1\", expected no value" },
		{ "in --flug", "--flug: no such option; did you mean \"--flag\"?" },
		{ "in --numbr=3", "--numbr: no such option; did you mean \"--number\"?" },
		{ "--nothing in", "--nothing: no such option" },
		{ "-xy in", "-xy: no such option" },
		{ "in --t x", "--t: stands for --text and for --two-words, expected a longer beginning" },
		{ "in --two_word --flag",
		  "--two-words: found the option --flag instead of a value, expected W" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(free_ptr) char *found = refusal(cases[i].line);

		if (strncmp(found, "kiln row: ", 10) != 0 || strcmp(found + 10, cases[i].words) != 0)
			fail_msg("\"%s\": found \"%s\", expected \"%s\"", cases[i].line, found,
				 cases[i].words);
	}
}

static void test_values(void **state)
{
	struct arguments arguments;

	(void)state;
	assert_int_equal(parse("in --number 7 --text a --text b out", &arguments), CLI_OK);
	assert_int_equal(arguments_number(&arguments, "number", 3), 7);
	assert_string_equal(arguments_text(&arguments, "text"), "b");
	assert_null(arguments_text(&arguments, "word"));
	assert_false(arguments_have(&arguments, "flag"));
	assert_string_equal(arguments_operand(&arguments, 0), "in");
	assert_string_equal(arguments_operand(&arguments, 1), "out");
	assert_null(arguments_operand(&arguments, 2));
	assert_int_equal(parse("in --flag", &arguments), CLI_OK);
	assert_int_equal(arguments_number(&arguments, "number", 3), 3);
	assert_true(arguments_have(&arguments, "flag"));
	assert_int_equal(parse("-- --flag", &arguments), CLI_OK);
	assert_false(arguments_have(&arguments, "flag"));
	assert_string_equal(arguments_operand(&arguments, 0), "--flag");
	assert_int_equal(parse("in --two-words a_b", &arguments), CLI_OK);
	assert_string_equal(arguments_text(&arguments, "two_words"), "a_b");
	assert_int_equal(parse("in --two_w=c", &arguments), CLI_OK);
	assert_string_equal(arguments_text(&arguments, "two_words"), "c");
}

static void test_dispatch(void **state)
{
	static const struct verb one = { .name = "one", .summary = "first", .run = run },
				 two = { .name = "two", .summary = "second", .run = run };
	static const struct verb *const subs[] = { &one, &two, NULL };
	static const struct verb must = { .name = "must", .summary = "needs a word", .subs = subs }, may = {
		.name = "may", .summary = "needs none", .subs = subs, .otherwise = "two"
	};
	static const struct verb *const verbs[] = { &must, &may, NULL };
	char word[] = "verb", name_one[] = "one", name_three[] = "three";

	(void)state;
	assert_int_equal(dispatch(verbs, &must, 2, (char *[]){ word, name_one, NULL }), CLI_OK);
	assert_string_equal(seen, "must one");
	assert_int_equal(dispatch(verbs, &must, 1, (char *[]){ word, NULL }), CLI_USAGE);
	assert_int_equal(dispatch(verbs, &must, 2, (char *[]){ word, name_three, NULL }), CLI_USAGE);
	assert_int_equal(dispatch(verbs, &may, 1, (char *[]){ word, NULL }), CLI_OK);
	assert_string_equal(seen, "may two");
	assert_int_equal(dispatch(verbs, &may, 2, (char *[]){ word, name_three, NULL }), CLI_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_every_option_is_parsed),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_dispatch),
	};

	return cmocka_run_group_tests_name("cli_verbs", tests, NULL, NULL);
}
