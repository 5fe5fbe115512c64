/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/program.h"
#include "core/base/version.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

static bool take_operand(int *missing, int *optional)
{
	int *one = *missing ? missing : optional;

	return (*one)-- > 0;
}

int program_begin(const struct program *program, int argc, char **argv)
{
	int optional, missing = count_operands(program->arguments, &optional);

	for (int i = 1; i < argc; i++) {
		const char *after = *argv[i] == '-' ? find_option(program->arguments, argv[i]) : NULL;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return help(program);
		if (strcmp(argv[i], "--version") == 0) {
			program_print_version(program->name);
			return printed();
		}
		if (*argv[i] == '-' ? !after : !take_operand(&missing, &optional))
			return program_refuse(program, argv[i], "expected one of the arguments below");
		if (after && has_value(after) && ++i == argc)
			return program_refuse(program, argv[i - 1], "expected a value after it");
	}
	return missing ? program_refuse(program, NULL, "an argument is missing") : PROGRAM_GOES_ON;
}

const char *program_option(int argc, char **argv, const char *option)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], option) == 0)
			return i + 1 < argc ? argv[i + 1] : argv[i];
	return NULL;
}
