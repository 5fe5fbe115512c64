/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/dispatch.h"

#include "cli/base/arguments.h"
#include "cli/base/help.h"
#include "cli/base/say.h"
#include "core/base/nearest.h"

#include <string.h>

/* Prints the sub-verbs to choose from: "a verb is missing, expected check, show, apply or reference". */
static int ask_which(const struct verb *verb, const char *found)
{
	struct nearest nearest = { .typed = found ? found : "" };
	char words[256] = "", meant[NEAREST_TEXT_BYTES];
	size_t used = 0;

	for (const struct verb *const *sub = verb->subs; *sub && used < sizeof(words); sub++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
					 sub == verb->subs ? ""
					 : sub[1]          ? ", "
							   : " or ",
					 (*sub)->name);
	for (const struct verb *const *sub = verb->subs; *sub; sub++)
		nearest_try(&nearest, (*sub)->name);
	if (found)
		return cli_usage(verb->name, "found \"%s\", expected %s%s", found, words,
				 nearest_text(&nearest, meant));
	return cli_usage(verb->name, "a verb is missing, expected %s", words);
}

static bool is_help(const char *word)
{
	return word && strcmp(word, "--help") == 0;
}

static int parse_and_run(const struct verb *const *verbs, const struct verb *verb, const struct verb *parent,
			 int argc, char **argv)
{
	struct arguments arguments;
	char name[sizeof(arguments.name)];
	int r;

	(void)snprintf(name, sizeof(name), "%s%s%s", parent ? parent->name : "", parent ? " " : "",
		       verb->name);
	r = arguments_parse(verb, name, argc, argv, &arguments);
	if (r != CLI_OK)
		return r;
	if (arguments.help) {
		help_print(verb, parent, stdout);
		return CLI_OK;
	}
	memcpy(arguments.name, name, sizeof(name));
	arguments.verbs = verbs;
	return verb->run(&arguments);
}

int dispatch(const struct verb *const *verbs, const struct verb *verb, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct verb *sub = word ? verb_sub(verb, word) : NULL;

	if (sub)
		return parse_and_run(verbs, sub, verb, argc - 1, argv + 1);
	if (verb->subs && is_help(word)) {
		help_print(verb, NULL, stdout);
		return CLI_OK;
	}
	if (verb->run)
		return parse_and_run(verbs, verb, NULL, argc, argv);
	if (!verb->otherwise || (word && *word != '-'))
		return ask_which(verb, word);
	return parse_and_run(verbs, verb_sub(verb, verb->otherwise), verb, argc, argv);
}
