/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one verb, parsed by its row: "--NAME VALUE", "--NAME=VALUE", "--NAME" for a flag, in any
 * order with the operands; "--" ends the options. A name may be cut short where no other option begins so.
 */
#pragma once

#include "cli/base/verb.h"

struct arguments {
	const struct verb *verb;
	const struct verb *const *verbs;     /* all verbs, NULL ends: for a verb that prints about others */
	char name[32];                       /* "cache preload", for messages */
	const char *value[VERB_OPTIONS_MAX]; /* by the index of verb_option_at(); NULL: not given */
	char **operand;
	int operands;
	bool help; /* --help is there; nothing else was checked */
};

/* Fills *ret_arguments from argv[1] on; sets no name and no verbs. The values stay argv's. Returns CLI_OK, or
 * CLI_USAGE after a sentence on standard error. `name` is for that sentence. */
int arguments_parse(const struct verb *verb, const char *name, int argc, char **argv,
		    struct arguments *ret_arguments);

/* Value of an option of the row; a name that is not in the row is a mistake of ours and aborts. */
bool arguments_have(const struct arguments *arguments, const char *option);
/* NULL: not given. */
const char *arguments_text(const struct arguments *arguments, const char *option);
uint64_t arguments_number(const struct arguments *arguments, const char *option, uint64_t fallback);

/* NULL: not given. */
const char *arguments_operand(const struct arguments *arguments, int index);
