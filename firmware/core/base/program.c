/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/program.h"
#include "core/base/version.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WHY_BYTES 128u

static const char below[] = "expected one of the arguments below";

/* ---- The usage ---- */

/* Finds an option in the usage. Returns what follows its name; NULL = the usage does not have it. */
static const char *find_option(const char *arguments, const char *option)
{
	const size_t length = strcspn(option, " ]");

	for (const char *at = arguments; (at = strstr(at, option)); at++)
		if (at > arguments && strchr("[ ", at[-1]) && strchr(" ]", at[length]) && !option[length])
			return at + length;
	return NULL;
}

static bool has_value(const char *after_option)
{
	return *after_option == ' ' && isupper((unsigned char)after_option[1]);
}

/* Counts the operands: words outside of brackets; in `ret_optional`, words in brackets of their own. */
static int count_operands(const char *arguments, int *ret_optional)
{
	int count = 0;

	*ret_optional = 0;
	while (*arguments) {
		if (*arguments == '[') {
			*ret_optional += arguments[1] != '-';
			arguments += strcspn(arguments, "]") + 1;
		} else if (*arguments == ' ') {
			arguments++;
		} else {
			count++;
			arguments += strcspn(arguments, " ");
		}
	}
	return count;
}

/* Finds the operand `index` among those that must be given. Returns its word in the usage, and its length. */
static const char *find_operand(const char *arguments, int index, size_t *ret_length)
{
	for (;; arguments += *ret_length) {
		arguments += strspn(arguments, " ");
		if (*arguments == '[') {
			*ret_length = strcspn(arguments, "]") + 1;
			continue;
		}
		*ret_length = strcspn(arguments, " ");
		if (index-- == 0)
			return arguments;
	}
}

/* Tells whether an operand of the usage may be this word. Capitals stand for any word, other words with '|'
 * between them for themselves. */
static bool is_allowed(const char *usage, size_t length, const char *word)
{
	const char *end = usage + length;

	if (!memchr(usage, '|', length) || isupper((unsigned char)*usage))
		return true;
	while (usage < end) {
		const size_t one = strcspn(usage, "| ");

		if (strlen(word) == one && memcmp(word, usage, one) == 0)
			return true;
		usage += one + 1;
	}
	return false;
}

static void print_usage(const struct program *program, FILE *out)
{
	fprintf(out, "Usage: %s%s%s\n", program->name, *program->arguments ? " " : "", program->arguments);
}

/* ---- The arguments ---- */

int program_refuse(const struct program *program, const char *found, const char *why)
{
	if (found)
		fprintf(stderr, "%s: found %s, %s\n", program->name, found, why);
	else
		fprintf(stderr, "%s: %s\n", program->name, why);
	print_usage(program, stderr);
	return EX_USAGE;
}

void program_print_version(const char *name)
{
	printf("%s " KILN_VERSION "\n", name);
}

static int printed(void)
{
	return fflush(stdout) == 0 && !ferror(stdout) ? EX_OK : EX_IOERR;
}

static int help(const struct program *program)
{
	print_usage(program, stdout);
	printf("\n%s\n\n--help prints this text, --version prints the version.\n", program->about);
	return printed();
}

/* The operands of the usage that were not given yet. */
struct operands {
	int taken, missing, optional;
};

/* Takes one operand. Returns what is wrong with it; NULL = nothing. `out` is room for the answer. */
static const char *take_operand(const struct program *program, struct operands *operands, const char *word,
				char out[static WHY_BYTES])
{
	size_t length;
	const char *usage;

	if (operands->missing == 0)
		return operands->optional-- > 0 ? NULL : below;
	usage = find_operand(program->arguments, operands->taken++, &length);
	operands->missing--;
	if (is_allowed(usage, length, word))
		return NULL;
	(void)snprintf(out, WHY_BYTES, "expected one of %.*s", (int)length, usage);
	return out;
}

/* Tells whether the arguments after the operands belong to another program. */
static bool has_rest(const struct program *program)
{
	static const char rest[] = "...]";
	const size_t length = strlen(program->arguments);

	return length >= sizeof(rest) && strcmp(program->arguments + length - (sizeof(rest) - 1), rest) == 0;
}

int program_begin(const struct program *program, int argc, char **argv)
{
	struct operands operands = { 0 };
	char why[WHY_BYTES];

	operands.missing = count_operands(program->arguments, &operands.optional);
	for (int i = 1; i < argc && (operands.missing > 0 || !has_rest(program)); i++) {
		const char *after = *argv[i] == '-' ? find_option(program->arguments, argv[i]) : NULL, *wrong;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return help(program);
		if (strcmp(argv[i], "--version") == 0) {
			program_print_version(program->name);
			return printed();
		}
		wrong = *argv[i] != '-' ? take_operand(program, &operands, argv[i], why)
			: after         ? NULL
					: below;
		if (wrong)
			return program_refuse(program, argv[i], wrong);
		if (after && has_value(after) && ++i == argc)
			return program_refuse(program, argv[i - 1], "expected a value after it");
	}
	return operands.missing ? program_refuse(program, NULL, "an argument is missing") : PROGRAM_GOES_ON;
}

const char *program_option(int argc, char **argv, const char *option)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], option) == 0)
			return i + 1 < argc ? argv[i + 1] : argv[i];
	return NULL;
}

bool program_number(const char *text, uint64_t max, uint64_t *ret_number)
{
	uint64_t number = 0;

	for (const char *digit = text; *digit; digit++)
		if (*digit < '0' || *digit > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number))
			return false;
	if (!*text || number > max)
		return false;
	*ret_number = number;
	return true;
}
