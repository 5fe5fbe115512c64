/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of verbs: everything that the parser, `kiln VERB --help`, the manual page and the shell
 * completions know about a verb. Each verb's row stands in the verb's own file (firmware/cli/verbs);
 * firmware/cli/verb_list.c collects the rows.
 *
 * A row is constant and complete: arguments_parse() accepts exactly the options and operands of the row, and
 * arguments_text() and its like refuse a name that is not in the row. So a row that leaves out an option, or
 * names an option that nobody accepts, cannot exist.
 *
 * A verb that asks a box names its methods of the control protocol (core/control/control.h). The parameters
 * of a method are options, too: read options by verb_option_at() alone, which yields a verb's own and those
 * of its methods.
 *
 * Text: a summary is a phrase that begins with a small letter and ends without a full stop. `about` holds
 * whole sentences; "\n\n" separates paragraphs, a single line end does not occur. Help of an option is a
 * phrase like a summary; a default stands in it as "default 500".
 */
#pragma once

#include "core/control/control.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VERB_LISTS_MAX   5u
#define VERB_OPTIONS_MAX 32u /* options of one verb, those of its methods included */

/* Kinds of values, for checks and for shell completion. */
enum verb_value {
	VERB_FLAG,   /* an option without a value */
	VERB_TEXT,   /* any text; min .. max bytes where max is not 0; nothing to complete */
	VERB_NAME,   /* min .. max characters of [A-Za-z0-9_-] */
	VERB_NUMBER, /* a whole number, min .. max */
	VERB_CHOICE, /* a word of `choices` */
	VERB_FILE,   /* path of a file on this machine */
	VERB_FOLDER, /* path of a folder on this machine */
	VERB_URL,    /* s3://BUCKET/KEY or file:///PATH; nothing to complete */
	VERB_PLACE,  /* path of a file or folder on this machine, or a URL */
};

/* A list of options ends with a row whose name is NULL. */
struct verb_option {
	const char *name; /* without "--" */
	enum verb_value value;
	const char *argument; /* how help calls the value: "URL"; NULL for VERB_FLAG */
	const char *help;
	const char *choices; /* "a|b|c", for VERB_CHOICE */
	uint64_t min, max;
	bool of_method; /* a parameter of a method: the box checks choices and bounds, not the parser */
};

/* An argument without "--". A list of operands ends with a row whose name is NULL; only the last operand may
 * be repeated. */
struct verb_operand {
	const char *name; /* how help calls the operand: "MODEL" */
	enum verb_value value;
	bool optional, repeated;
};

/* An exit code beyond CLI_OK, CLI_ERROR, CLI_USAGE, and CLI_SOME_HOSTS and CLI_NO_HOST of --host. A list ends
 * with code 0. */
struct verb_exit {
	int code;
	const char *means;
};

struct arguments;

struct verb {
	const char *name;     /* "cache"; of a sub-verb its own word alone: "preload" */
	const char *summary;  /* NULL: verb_summary() yields the help of the first method */
	const char *synopsis; /* lines separated by '\n', each without "kiln "; NULL: made from the row */
	const char *about;    /* NULL: the summary says all */

	const struct verb_option *options[VERB_LISTS_MAX + 1]; /* lists; NULL ends */
	const struct verb_operand *operands;                   /* NULL: none */
	const struct verb_exit *exits;                         /* NULL: none beyond the usual */

	const char *methods[2];      /* control methods; NULL: asks no box */
	bool parameters_not_options; /* the verb fills in the parameters of its methods */
	const char *positional;      /* parameter whose value is the operand */
	bool here;                   /* refuses --host */

	const struct verb *const *subs; /* sub-verbs; NULL ends. A sub-verb has none of its own. */
	const char *otherwise;          /* sub-verb that runs where none is named; NULL: see `run` */
	/* Returns the exit code. NULL: a sub-verb must be named. */
	int (*run)(const struct arguments *arguments);
};

/* Options of `kiln` itself, before the verb. */
extern const struct verb_option verb_global_options[];

/* Yields option `index` of a verb, from 0: its own lists first, then the parameters of its methods, each name
 * once. Returns false after the last one. --help, which every verb has, is not among them. */
bool verb_option_at(const struct verb *verb, uint32_t index, struct verb_option *ret_option);
/* Writes "a, b, c" of VERB_CHOICE. Returns `out`. */
const char *verb_choices(const struct verb_option *option, char *out, size_t size);
/* Returns the sub-verb of this name, or NULL. */
const struct verb *verb_sub(const struct verb *verb, const char *name);
/* Returns the phrase for lists of verbs. */
const char *verb_summary(const struct verb *verb);
/* Returns the row of a method of the verb; NULL: there is no method `index`. */
const struct control_method *verb_method(const struct verb *verb, uint32_t index);
/* Prints the synopsis, one line each, `prefix` in front of each line ("kiln ", or markup of a manual page).
 * `parent` is the verb of a sub-verb, else NULL. A verb with sub-verbs has their lines. */
void verb_synopsis(const struct verb *verb, const struct verb *parent, const char *prefix, FILE *out);
