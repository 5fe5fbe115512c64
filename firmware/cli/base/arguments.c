/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"

#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#define CODE_FIRST 256 /* code of option 0 for getopt_long(): larger than the code of any character */
#define CODE_HELP  255

/* ---- One value ---- */

static bool read_number(const char *text, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static int check_value(const char *name, const struct verb_option *option, const char *text)
{
	uint64_t number;
	char choices[256];

	if (option->value == VERB_NUMBER && option->of_method)
		return read_number(text, &number) && number <= UINT64_C(1) << 53
			       ? CLI_OK
			       : cli_usage(name, "--%s: found \"%s\", expected a whole number", option->name,
					   text);
	if (option->value == VERB_NUMBER &&
	    (!read_number(text, &number) || number < option->min || number > option->max))
		return cli_usage(name,
				 "--%s: found \"%s\", expected a whole number of %" PRIu64 " .. %" PRIu64,
				 option->name, text, option->min, option->max);
	if (option->value == VERB_CHOICE && !option->of_method && !control_is_word(option->choices, text))
		return cli_usage(name, "--%s: found \"%s\", expected one of %s", option->name, text,
				 verb_choices(option, choices, sizeof(choices)));
	return CLI_OK;
}

/* ---- All of them ---- */

static int add_value(const char *name, struct arguments *arguments, uint32_t index, const char *text)
{
	struct verb_option option;

	(void)verb_option_at(arguments->verb, index, &option);
	if (option.of_method && arguments->value[index])
		return cli_usage(name, "--%s is given twice", option.name);
	arguments->value[index] = text ? text : "";
	return text ? check_value(name, &option, text) : CLI_OK;
}

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

/* Fills the rows of getopt_long() for a verb. The rows point to the names in the table of verbs. */
static void fill_rows(const struct verb *verb, struct option rows[static VERB_OPTIONS_MAX + 2])
{
	struct verb_option option;
	int count = 0;

	while (verb_option_at(verb, (uint32_t)count, &option)) {
		assert(count < (int)VERB_OPTIONS_MAX);
		rows[count] =
			(struct option){ option.name, option.value != VERB_FLAG, NULL, CODE_FIRST + count };
		count++;
	}
	rows[count++] = (struct option){ "help", 0, NULL, CODE_HELP };
	rows[count] = (struct option){ 0 };
}

int arguments_parse(const struct verb *verb, const char *name, int argc, char **argv,
		    struct arguments *ret_arguments)
{
	struct option rows[VERB_OPTIONS_MAX + 2];
	int code, r = CLI_OK;

	*ret_arguments = (struct arguments){ .verb = verb };
	fill_rows(verb, rows);
	optind = 0; /* 0 instead of 1: glibc then also forgets where it stopped in a word before */
	opterr = 0;
	while (r == CLI_OK && (code = getopt_long(argc, argv, ":", rows, NULL)) != -1)
		if (code == CODE_HELP) {
			ret_arguments->help = true;
			return CLI_OK;
		} else if (code == ':') {
			r = cli_usage(name, "%s: the value is missing", argv[optind - 1]);
		} else if (code < CODE_FIRST) {
			r = cli_usage(name, "\"%s\": no such option", argv[optind - 1]);
		} else {
			r = add_value(name, ret_arguments, (uint32_t)(code - CODE_FIRST), optarg);
		}
	ret_arguments->operand = argv + optind;
	ret_arguments->operands = argc - optind;
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
