/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one verb, parsed by the verb's row in the table of verbs. Options have the form "--NAME
 * VALUE", "--NAME=VALUE", or "--NAME" for a flag. Options and operands may be mixed in any order; after "--"
 * everything is an operand. The user may shorten the name of an option as long as only one option begins with
 * the shortened name, and may type '_' instead of '-' in it. A value that begins with "--" must have the form
 * "--NAME=VALUE": otherwise a forgotten value would swallow the next option.
 */
#pragma once

#include "cli/base/verb.h"

struct arguments {
	const struct verb *verb;
	const struct verb *const *verbs; /* all verbs, NULL-terminated: for a verb that prints the table */
	char name[32];                   /* full name of the verb for messages: "cache preload" */
	const char *value[VERB_OPTIONS_MAX]; /* indexed like verb_option_at(); NULL: not given */
	char **operand;
	int operands;
	bool help; /* --help was given; the arguments after it were not checked */
};

/* Fills *ret_arguments from argv[1], argv[2], ..., except the members `name` and `verbs`. The values point
 * into argv, whose operands are moved to its front. Returns CLI_OK, or CLI_USAGE after printing a sentence to
 * standard error. `name`: the verb's name for this sentence. */
int arguments_parse(const struct verb *verb, const char *name, int argc, char **argv,
		    struct arguments *ret_arguments);

/* Return the value of an option, or whether the option was given. Abort where the verb's row has no option of
 * this name, because that is a programming error. */
bool arguments_have(const struct arguments *arguments, const char *option);
/* Returns NULL where the option was not given. */
const char *arguments_text(const struct arguments *arguments, const char *option);
uint64_t arguments_number(const struct arguments *arguments, const char *option, uint64_t fallback);

/* Returns NULL where the operand was not given. */
const char *arguments_operand(const struct arguments *arguments, int index);
