/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The completions of bash and zsh have the same three shell functions, which contain the table of verbs. They
 * print the verbs that may follow, the options, and the values of an option or operand. Their parameter `at`
 * is the list of verbs typed so far: "", "config" or "config check". The completion of fish has one line for
 * each candidate instead.
 */
#include "cli/manual/completion.h"

#include <stdlib.h>
#include <string.h>

#define AT_BYTES 96u

/* Called for each verb and sub-verb. `at`: the words up to and including the verb, "config check". */
typedef void visitor(const struct verb *verb, const char *at, FILE *out);

static void visit_all(const struct verb *const *verbs, const char *before, visitor *visit, FILE *out)
{
	char at[AT_BYTES];

	for (; *verbs; verbs++) {
		(void)snprintf(at, sizeof(at), "%s%s%s", before, *before ? " " : "", (*verbs)->name);
		visit(*verbs, at, out);
		if ((*verbs)->subs)
			visit_all((*verbs)->subs, at, visit, out);
	}
}

/* Returns the mark that the shell functions print for values of this kind; NULL: the shell cannot complete
 * such values. */
static const char *values_of(enum verb_value value)
{
	switch (value) {
	case VERB_FILE:
	case VERB_LOCATION:
		return "@file";
	case VERB_FOLDER:
		return "@folder";
	default:
		return NULL;
	}
}

static void put_choices(const char *choices, FILE *out)
{
	for (; *choices; choices++)
		fputc(*choices == '|' ? ' ' : *choices, out);
}

/* ---- bash and zsh ---- */

static void put_verbs_case(const struct verb *verb, const char *at, FILE *out)
{
	if (!verb->subs)
		return;
	fprintf(out, "\t'%s') echo", at);
	for (const struct verb *const *sub = verb->subs; *sub; sub++)
		fprintf(out, " %s", (*sub)->name);
	fputs(" ;;\n", out);
}

static void put_options_case(const struct verb *verb, const char *at, FILE *out)
{
	struct verb_option option;
	char word[VERB_WORD_BYTES];

	fprintf(out, "\t'%s') echo", at);
	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++)
		fprintf(out, " %s", verb_option_word(&option, word));
	fputs(" --help ;;\n", out);
}

static void put_values_case(const struct verb *verb, const char *at, FILE *out)
{
	struct verb_option option;
	char word[VERB_WORD_BYTES];
	const char *values;

	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++) {
		if (option.value == VERB_FLAG)
			continue;
		values = values_of(option.value);
		fprintf(out, "\t'%s %s') echo ", at, verb_option_word(&option, word));
		if (option.value == VERB_CHOICE)
			put_choices(option.choices, out);
		else
			fputs(values ? values : "@nothing", out);
		fputs(" ;;\n", out);
	}
	for (const struct verb_operand *operand = verb->operands; operand && operand->name; operand++)
		if ((values = values_of(operand->value))) {
			fprintf(out, "\t'%s ') echo %s ;;\n", at, values);
			return;
		}
}

static void put_tables(const struct verb *const *verbs, FILE *out)
{
	fputs("_kiln_verbs() {\n\tcase $1 in\n\t'') echo", out);
	for (const struct verb *const *verb = verbs; *verb; verb++)
		fprintf(out, " %s", (*verb)->name);
	fputs(" ;;\n", out);
	visit_all(verbs, "", put_verbs_case, out);
	fputs("\tesac\n}\n\n_kiln_options() {\n\tcase $1 in\n\t'') echo", out);
	for (const struct verb_option *option = verb_global_options; option->name; option++)
		fprintf(out, " --%s", option->name);
	fputs(" ;;\n", out);
	visit_all(verbs, "", put_options_case, out);
	fputs("\tesac\n}\n\n_kiln_values() {\n\tcase \"$1 $2\" in\n\t' --host') echo @nothing ;;\n", out);
	visit_all(verbs, "", put_values_case, out);
	fputs("\tesac\n}\n\n", out);
}

static void print_bash(const struct verb *const *verbs, FILE *out)
{
	fputs("# bash completion of kiln. Written by `kiln completion bash`.\n", out);
	put_tables(verbs, out);
	fputs("_kiln() {\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at= i values\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\t[ \"${COMP_WORDS[i]}\" != --host ] || { i=$((i + 1)) && continue; }\n"
	      "\t\t[[ \" $(_kiln_verbs \"$at\") \" != *\" ${COMP_WORDS[i]} \"* ]] || at=\"${at:+$at "
	      "}${COMP_WORDS[i]}\"\n"
	      "\tdone\n"
	      "\tcase $before in --*) values=$(_kiln_values \"$at\" \"$before\") ;; esac\n"
	      "\tcase $current in\n"
	      "\t-*) values=${values:-$(_kiln_options \"$at\")} ;;\n"
	      "\t*) values=${values:-$(_kiln_verbs \"$at\") $(_kiln_values \"$at\" \"\")} ;;\n"
	      "\tesac\n"
	      "\tCOMPREPLY=()\n"
	      "\tcase $values in\n"
	      "\t*@file*) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "
	      "\"$current\") ;;\n"
	      "\t*@folder*) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "
	      "\"$current\") ;;\n"
	      "\t*@nothing*) ;;\n"
	      "\t*) mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$current\") ;;\n"
	      "\tesac\n"
	      "}\n"
	      "complete -F _kiln kiln\n",
	      out);
}

/* Use the name `at` for the words typed so far, because `path` is a special variable of zsh. */
static void print_zsh(const struct verb *const *verbs, FILE *out)
{
	fputs("#compdef kiln\n# zsh completion of kiln. Written by `kiln completion zsh`.\n", out);
	put_tables(verbs, out);
	fputs("_kiln() {\n"
	      "\tlocal current=$words[CURRENT] before=$words[CURRENT-1] at= i values=\n"
	      "\tfor ((i = 2; i < CURRENT; i++)); do\n"
	      "\t\tif [[ $words[i] == --host ]]; then i=$((i + 1)); continue; fi\n"
	      "\t\t[[ \" $(_kiln_verbs \"$at\") \" != *\" $words[i] \"* ]] || at=\"${at:+$at }$words[i]\"\n"
	      "\tdone\n"
	      "\t[[ $before != --* ]] || values=$(_kiln_values \"$at\" \"$before\")\n"
	      "\tif [[ $current == -* ]]; then\n"
	      "\t\tvalues=${values:-$(_kiln_options \"$at\")}\n"
	      "\telse\n"
	      "\t\tvalues=${values:-$(_kiln_verbs \"$at\") $(_kiln_values \"$at\" \"\")}\n"
	      "\tfi\n"
	      "\tcase $values in\n"
	      "\t*@file*) _files ;;\n"
	      "\t*@folder*) _files -/ ;;\n"
	      "\t*@nothing*) ;;\n"
	      "\t*) compadd -- ${=values} ;;\n"
	      "\tesac\n"
	      "}\n"
	      "_kiln \"$@\"\n",
	      out);
}

/* ---- fish ---- */

static void put_quoted(const char *text, FILE *out)
{
	fputc('\'', out);
	for (; *text; text++)
		fprintf(out, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
	fputc('\'', out);
}

static void put_line(const char *at, FILE *out)
{
	fprintf(out, "complete -c kiln -n \"test (__kiln_at) = '%s'\" ", at);
}

static void put_fish_option(const struct verb_option *option, const char *at, FILE *out)
{
	const char *values = values_of(option->value);
	char word[VERB_WORD_BYTES];

	put_line(at, out);
	fprintf(out, "-l %s ", verb_option_word(option, word) + 2);
	if (option->value == VERB_CHOICE) {
		fputs("-x -a '", out);
		put_choices(option->choices, out);
		fputs("' ", out);
	} else if (option->value != VERB_FLAG) {
		fputs(!values                        ? "-x "
		      : strcmp(values, "@file") == 0 ? "-rF "
						     : "-x -a '(__fish_complete_directories)' ",
		      out);
	}
	fputs("-d ", out);
	put_quoted(option->help, out);
	fputc('\n', out);
}

static void put_fish_names(const struct verb *const *verbs, const char *at, FILE *out)
{
	for (; *verbs; verbs++) {
		put_line(at, out);
		fprintf(out, "-a %s -d ", (*verbs)->name);
		put_quoted(verb_summary(*verbs), out);
		fputc('\n', out);
	}
}

static void put_fish_verb(const struct verb *verb, const char *at, FILE *out)
{
	struct verb_option option;
	const char *values = NULL;

	if (verb->subs)
		put_fish_names(verb->subs, at, out);
	for (uint32_t i = 0; verb_option_at(verb, i, &option); i++)
		put_fish_option(&option, at, out);
	for (const struct verb_operand *operand = verb->operands; operand && operand->name && !values;
	     operand++)
		values = values_of(operand->value);
	if (!values)
		return;
	put_line(at, out);
	fputs(strcmp(values, "@file") == 0 ? "-F\n" : "-a '(__fish_complete_directories)'\n", out);
}

static void print_fish(const struct verb *const *verbs, FILE *out)
{
	fputs("# fish completion of kiln. Written by `kiln completion fish`.\n"
	      "function __kiln_known # verbs of the line so far\n"
	      "\tswitch \"$argv\"\n"
	      "\tcase",
	      out);
	for (const struct verb *const *verb = verbs; *verb; verb++) {
		fprintf(out, " %s", (*verb)->name);
		for (const struct verb *const *sub = (*verb)->subs; sub && *sub; sub++)
			fprintf(out, " '%s %s'", (*verb)->name, (*sub)->name);
	}
	fputs("\n\t\treturn 0\n"
	      "\tend\n"
	      "\treturn 1\n"
	      "end\n"
	      "function __kiln_at\n"
	      "\tset -l at\n"
	      "\tset -l skip 0\n"
	      "\tfor word in (commandline -opc)[2..]\n"
	      "\t\tif test $skip = 1; or test \"$word\" = --host\n"
	      "\t\t\tset skip (math 1 - $skip)\n"
	      "\t\telse if __kiln_known $at $word\n"
	      "\t\t\tset -a at $word\n"
	      "\t\tend\n"
	      "\tend\n"
	      "\techo \"$at\"\n"
	      "end\n"
	      "complete -c kiln -f\n",
	      out);
	put_fish_names(verbs, "", out);
	for (const struct verb_option *option = verb_global_options; option->name; option++)
		put_fish_option(option, "", out);
	visit_all(verbs, "", put_fish_verb, out);
}

bool completion_print(const char *shell, const struct verb *const *verbs, FILE *out)
{
	static const struct {
		const char *shell;
		void (*print)(const struct verb *const *verbs, FILE *out);
	} shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(shell, shells[i].shell) == 0) {
			shells[i].print(verbs, out);
			return true;
		}
	return false;
}
