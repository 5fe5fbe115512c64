/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/help.h"
#include "core/base/wrap.h"

#include <inttypes.h>
#include <string.h>

#define WIDTH      90
#define COLUMN     25 /* where the help of an option begins */
#define SUB_COLUMN 17 /* where the summary of a verb begins */

/* Prints text, wrapped at column WIDTH. `at`: the column where the text begins; `indent`: the column where
 * each further line begins. */
static void print_wrapped(const char *text, int at, int indent, FILE *out)
{
	char blank[WIDTH];

	(void)snprintf(blank, sizeof(blank), "%*s", indent, "");
	wrap_print(text, (size_t)at, blank, WIDTH, out);
}

static void print_row(const char *name, const char *text, int column, FILE *out)
{
	int at = fprintf(out, "  %s", name);

	if (at >= column) {
		(void)fputc('\n', out);
		at = 0;
	}
	fprintf(out, "%*s", column - at, "");
	print_wrapped(text, column, column, out);
}

static void print_about(const char *about, FILE *out)
{
	while (*about) {
		const char *end = strstr(about, "\n\n");
		char paragraph[2048];

		(void)snprintf(paragraph, sizeof(paragraph), "%.*s",
			       end ? (int)(end - about) : (int)strlen(about), about);
		(void)fputc('\n', out);
		print_wrapped(paragraph, 0, 0, out);
		about = end ? end + 2 : "";
	}
}

void help_allowed(const struct verb_option *option, char *out, size_t size)
{
	char choices[512];

	*out = '\0';
	if (option->value == VERB_CHOICE)
		(void)snprintf(out, size, " (one of %s)", verb_choices(option, choices, sizeof(choices)));
	else if (option->value != VERB_FLAG && option->max)
		(void)snprintf(out, size, " (%" PRIu64 " .. %" PRIu64 "%s)", option->min, option->max,
			       option->value == VERB_TEXT   ? " bytes"
			       : option->value == VERB_NAME ? " characters of [A-Za-z0-9_-]"
							    : "");
}

static void print_option(const struct verb_option *option, FILE *out)
{
	char word[VERB_WORD_BYTES], name[160], value[600], text[1400];

	(void)snprintf(name, sizeof(name), "%s%s%s", verb_option_word(option, word),
		       option->argument ? " " : "", option->argument ? option->argument : "");
	help_allowed(option, value, sizeof(value));
	(void)snprintf(text, sizeof(text), "%s%s", option->help, value);
	print_row(name, text, COLUMN, out);
}

static void print_options(const struct verb *verb, FILE *out)
{
	static const struct verb_option help = { .name = "help", .help = "print this text" };
	struct verb_option option;

	(void)fputc('\n', out);
	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++)
		print_option(&option, out);
	print_option(&help, out);
}

static void print_sentence(const char *phrase, FILE *out)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "%c%s.", *phrase >= 'a' && *phrase <= 'z' ? *phrase - 32 : *phrase,
		       *phrase ? phrase + 1 : "");
	print_wrapped(text, 0, 0, out);
}

static void print_subs(const struct verb *verb, FILE *out)
{
	(void)fputc('\n', out);
	for (const struct verb *const *sub = verb->subs; *sub; sub++)
		print_row((*sub)->name, verb_summary(*sub), SUB_COLUMN, out);
	fprintf(out, "\nkiln %s VERB --help describes a verb", verb->name);
	if (verb->otherwise)
		fprintf(out, ".\nkiln %s without a verb runs kiln %s %s", verb->name, verb->name,
			verb->otherwise);
	fputs(".\n", out);
}

static void print_exits(const struct verb *verb, FILE *out)
{
	char text[512] = "Exit codes: 0 done, 1 error, 2 wrong usage";
	size_t used = strlen(text);

	for (const struct verb_exit *code = verb->exits; code && code->code && used < sizeof(text); code++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "; %d %s", code->code,
					 code->means);
	if (!verb->exits)
		return;
	(void)fputc('\n', out);
	print_sentence(text, out);
}

static void print_methods(const struct verb *verb, FILE *out)
{
	const struct control_method *method;

	for (uint32_t i = 0; (method = verb_method(verb, i)); i++)
		fprintf(out, "%sMethod %s, role %s.\n", i ? "" : "\n", method->name,
			control_role_name(method->role));
}

void help_print(const struct verb *verb, const struct verb *parent, FILE *out)
{
	fputs("Usage:\n", out);
	verb_synopsis(verb, parent, "  kiln ", out);
	(void)fputc('\n', out);
	print_sentence(verb_summary(verb), out);
	if (verb->about)
		print_about(verb->about, out);
	if (verb->run)
		print_options(verb, out);
	if (verb->subs)
		print_subs(verb, out);
	print_exits(verb, out);
	print_methods(verb, out);
}

void help_print_all(const struct verb *const *verbs, FILE *out)
{
	fputs("Usage:\n  kiln [--host NAME=ADDRESS[:PORT],...] VERB [ARGUMENT...]\n\n", out);
	for (const struct verb *const *verb = verbs; *verb; verb++)
		print_row((*verb)->name, verb_summary(*verb), SUB_COLUMN, out);
	(void)fputc('\n', out);
	for (const struct verb_option *option = verb_global_options; option->name; option++)
		print_option(option, out);
	(void)fputc('\n', out);
	print_wrapped("kiln VERB --help describes a verb.", 0, 0, out);
	print_wrapped(
		"Exit codes: 0 done, 1 error, 2 wrong usage; with --host: 3 some boxes did not answer, 4 no "
		"box answered; of status and watch: 5 the box is degraded, 6 the run failed, 7 no run.",
		0, 0, out);
}
