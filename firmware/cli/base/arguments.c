/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "core/base/nearest.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define EXPECTED_BYTES 384u

/* ---- One value ---- */

static bool read_number(const char *text, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* Says which values an option takes: "a whole number of 1 .. 8", "one of up, down", "FILE". */
static const char *expected(const struct verb_option *option, char out[static EXPECTED_BYTES])
{
	char choices[EXPECTED_BYTES - 16];

	if (option->value == VERB_NUMBER)
		(void)snprintf(out, EXPECTED_BYTES, "a whole number of %" PRIu64 " .. %" PRIu64, option->min,
			       option->max);
	else if (option->value == VERB_CHOICE)
		(void)snprintf(out, EXPECTED_BYTES, "one of %s",
			       verb_choices(option, choices, sizeof(choices)));
	else
		(void)snprintf(out, EXPECTED_BYTES, "%s", option->argument);
	return out;
}

static bool is_good(const struct verb_option *option, const char *text)
{
	uint64_t number;

	if (option->value == VERB_NUMBER)
		return read_number(text, &number) && number >= option->min && number <= option->max;
	return option->value != VERB_CHOICE || control_is_word(option->choices, text);
}

/* Says which value a person meant who typed `value`, as nearest_text() does. Returns `out`. */
static const char *meant_value(const struct verb_option *option, const char *value,
			       char out[static NEAREST_TEXT_BYTES])
{
	struct nearest nearest = { .typed = value };
	char word[NEAREST_WORD_BYTES];

	for (const char *at = option->value == VERB_CHOICE ? option->choices : ""; *at; at += *at == '|') {
		const size_t bytes = strcspn(at, "|");

		(void)snprintf(word, sizeof(word), "%.*s", (int)bytes, at);
		nearest_try(&nearest, word);
		at += bytes;
	}
	return nearest_text(&nearest, out);
}

/* ---- One option ---- */

/* One word of the command line, "--NAME" or "--NAME=VALUE". */
struct typed {
	const char *verb; /* for the sentence about a mistake */
	const char *word;
	size_t name_bytes;
	const char *value; /* the text after '=', or NULL */
};

/* Compares the first `bytes` characters of two names of options; '-' and '_' are equal. */
static bool is_same_name(const char *a, const char *b, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (a[i] != b[i] && !(strchr("-_", a[i]) && strchr("-_", b[i])))
			return false;
	return true;
}

static int refuse_unknown(const struct verb *verb, const struct typed *typed)
{
	char name[NEAREST_WORD_BYTES], word[VERB_WORD_BYTES], meant[NEAREST_TEXT_BYTES];
	struct nearest nearest = { .typed = name };
	struct verb_option option;

	(void)snprintf(name, sizeof(name), "--%.*s", (int)typed->name_bytes, typed->word + 2);
	nearest_try(&nearest, "--help");
	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++)
		nearest_try(&nearest, verb_option_word(&option, word));
	return cli_usage(typed->verb, "%.*s: no such option%s", (int)typed->name_bytes + 2, typed->word,
			 nearest_text(&nearest, meant));
}

/* Finds the option: by its whole name, or by a beginning that no other option has. */
static int find_option(const struct verb *verb, const struct typed *typed, uint32_t *ret_index,
		       struct verb_option *ret_option)
{
	char first[VERB_WORD_BYTES], other[VERB_WORD_BYTES];
	struct verb_option option;
	uint32_t found = 0;

	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++) {
		if (strlen(option.name) < typed->name_bytes ||
		    !is_same_name(option.name, typed->word + 2, typed->name_bytes))
			continue;
		assert(i < VERB_OPTIONS_MAX);
		if (found == 0 || strlen(option.name) == typed->name_bytes) {
			*ret_index = i;
			*ret_option = option;
		}
		if (strlen(option.name) == typed->name_bytes)
			return CLI_OK;
		(void)verb_option_word(&option, found++ == 0 ? first : other);
	}
	if (found == 0)
		return refuse_unknown(verb, typed);
	if (found > 1)
		return cli_usage(typed->verb, "%.*s: stands for %s and for %s, expected a longer beginning",
				 (int)typed->name_bytes + 2, typed->word, first, other);
	return CLI_OK;
}

/* Stores the value of an option. `next`: the word after the option, or NULL. *ret_used: the value is `next`.
 */
static int take_value(struct arguments *arguments, const struct typed *typed, const char *next,
		      bool *ret_used)
{
	char word[VERB_WORD_BYTES], wanted[EXPECTED_BYTES], meant[NEAREST_TEXT_BYTES];
	const char *value = typed->value;
	struct verb_option option;
	uint32_t index = 0;
	int r = find_option(arguments->verb, typed, &index, &option);

	*ret_used = false;
	if (r != CLI_OK)
		return r;
	(void)verb_option_word(&option, word);
	if (option.value == VERB_FLAG) {
		if (value)
			return cli_usage(typed->verb, "%s: found \"%s\", expected no value", word, value);
		arguments->value[index] = "";
		return CLI_OK;
	}
	if (!value && next && strncmp(next, "--", 2) == 0)
		return cli_usage(typed->verb, "%s: found the option %s instead of a value, expected %s", word,
				 next, expected(&option, wanted));
	if (!value && !next)
		return cli_usage(typed->verb, "%s: the value is missing, expected %s", word,
				 expected(&option, wanted));
	*ret_used = !value;
	value = value ? value : next;
	if (option.of_method && arguments->value[index])
		return cli_usage(typed->verb, "%s is given twice", word);
	arguments->value[index] = value;
	return is_good(&option, value)
		       ? CLI_OK
		       : cli_usage(typed->verb, "%s: found \"%s\", expected %s%s", word, value,
				   expected(&option, wanted), meant_value(&option, value, meant));
}

/* ---- All of them ---- */

static int check_operands(const char *name, const struct arguments *arguments)
{
	const struct verb_operand *operand = arguments->verb->operands;
	int i = 0;

	for (; operand && operand->name; operand++, i++) {
		if (i >= arguments->operands && !operand->optional)
			return cli_usage(name, "%s is missing", operand->name);
		if (operand->repeated)
			return CLI_OK;
	}
	return i >= arguments->operands
		       ? CLI_OK
		       : cli_usage(name, "\"%s\" is not expected here", arguments->operand[i]);
}

/* Moves the operands to the front of argv, behind argv[0], because options may stand between them. */
int arguments_parse(const struct verb *verb, const char *name, int argc, char **argv,
		    struct arguments *ret_arguments)
{
	int r = CLI_OK, i = 1;

	*ret_arguments = (struct arguments){ .verb = verb, .operand = argv + 1 };
	for (; r == CLI_OK && i < argc && strcmp(argv[i], "--") != 0; i++) {
		struct typed typed = { .verb = name, .word = argv[i] };
		const char *value = strchr(argv[i], '=');
		bool used;

		if (argv[i][0] != '-' || !argv[i][1]) {
			argv[1 + ret_arguments->operands++] = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--help") == 0) {
			ret_arguments->help = true;
			return CLI_OK;
		}
		if (argv[i][1] != '-')
			return cli_usage(name, "%s: no such option", argv[i]);
		typed.name_bytes = (value ? (size_t)(value - argv[i]) : strlen(argv[i])) - 2;
		typed.value = value ? value + 1 : NULL;
		r = take_value(ret_arguments, &typed, i + 1 < argc ? argv[i + 1] : NULL, &used);
		i += used;
	}
	for (i++; i < argc; i++)
		argv[1 + ret_arguments->operands++] = argv[i];
	return r == CLI_OK ? check_operands(name, ret_arguments) : r;
}

/* ---- For verbs ---- */

const char *arguments_text(const struct arguments *arguments, const char *name)
{
	struct verb_option option;

	for (uint32_t i = 0; verb_option_at(arguments->verb, i, &option); i++)
		if (strcmp(option.name, name) == 0)
			return arguments->value[i];
	abort(); /* the option is not in the verb's row */
	return NULL;
}

bool arguments_have(const struct arguments *arguments, const char *name)
{
	return arguments_text(arguments, name) != NULL;
}

uint64_t arguments_number(const struct arguments *arguments, const char *name, uint64_t fallback)
{
	const char *text = arguments_text(arguments, name);
	uint64_t number;

	return text && read_number(text, &number) ? number : fallback;
}

const char *arguments_operand(const struct arguments *arguments, int index)
{
	return index < arguments->operands ? arguments->operand[index] : NULL;
}
