/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of verbs: everything that the parser, `kiln VERB --help`, the manual page and the shell
 * completions know about a verb. Each verb's row is defined in the verb's own file (firmware/cli/verbs);
 * firmware/cli/verb_list.c collects the rows.
 *
 * A row is constant and complete: arguments_parse() accepts exactly the options and operands of the row, and
 * arguments_text() and the similar functions abort for a name that is not in the row. So a row can neither
 * lack an option that the verb reads, nor list an option that the parser refuses.
 *
 * The row of a verb that sends requests to a box lists the methods of the control protocol
 * (core/control/control.h) that the verb calls. The parameters of these methods are options of the verb, too.
 * So list options only by verb_option_at(), which returns the verb's own options and the parameters of its
 * methods.
 *
 * Text: a summary is a phrase that begins with a small letter and ends without a full stop. `about` holds
 * whole sentences; "\n\n" separates paragraphs, single line ends do not occur. The help of an option is a
 * phrase like a summary; it states a default as "default 500".
 *
 * Threads: none; rows are constant, so any thread may read them. Owns nothing. Crash: nothing is stored.
 */
#pragma once

#include "core/control/control.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VERB_LISTS_MAX   5u
#define VERB_OPTIONS_MAX 64u /* options of one verb, including the parameters of its methods */

/* Kinds of values, for checks and for shell completion. */
enum verb_value {
	VERB_FLAG,     /* an option without a value */
	VERB_TEXT,     /* any text; min .. max bytes unless max is 0; the shell completes nothing */
	VERB_NAME,     /* min .. max characters of [A-Za-z0-9_-] */
	VERB_NUMBER,   /* a whole number, min .. max */
	VERB_CHOICE,   /* a word of `choices` */
	VERB_FILE,     /* path of a file on this machine */
	VERB_FOLDER,   /* path of a folder on this machine */
	VERB_URL,      /* s3://BUCKET/KEY or file:///PATH; the shell completes nothing */
	VERB_LOCATION, /* path of a file or folder on this machine, or a URL */
};

/* A list of options ends with a row whose name is NULL. */
struct verb_option {
	const char *name; /* without "--"; verb_option_word() returns what the user types */
	enum verb_value value;
	const char *argument; /* placeholder of the value in help texts: "URL"; NULL for VERB_FLAG */
	const char *help;
	const char *choices; /* "a|b|c", for VERB_CHOICE */
	uint64_t min, max;
	bool of_method; /* a parameter of a method, which may be given once */
};

/* An argument without "--". A list of operands ends with a row whose name is NULL; only the last operand may
 * be repeated. */
struct verb_operand {
	const char *name; /* placeholder of the operand in help texts: "MODEL" */
	enum verb_value value;
	bool optional, repeated;
};

/* An exit code of one verb, in addition to those of every verb (CLI_OK, CLI_ERROR, CLI_USAGE) and those of
 * --host (CLI_SOME_HOSTS, CLI_NO_HOST). A list of exit codes ends with code 0. */
struct verb_exit {
	int code;
	const char *means;
};

struct arguments;

struct verb {
	const char *name;     /* "cache"; for a sub-verb only the last word: "preload" */
	const char *summary;  /* NULL: verb_summary() returns the help of the first method */
	const char *synopsis; /* lines separated by '\n', each without "kiln "; NULL: made from the row */
	const char *about;    /* NULL: the summary says everything */

	const struct verb_option *options[VERB_LISTS_MAX + 1]; /* NULL-terminated lists */
	const struct verb_operand *operands;                   /* NULL: no operands */
	const struct verb_exit *exits;                         /* NULL: only the exit codes of every verb */

	const char *methods[2];      /* methods of the control protocol; NULL: calls none */
	bool parameters_not_options; /* the verb computes the parameters of its methods */
	const char *positional;      /* name of the parameter that gets the operand as its value */
	bool here;                   /* works without a box and refuses --host */

	const struct verb *const *subs; /* sub-verbs, NULL-terminated. A sub-verb has no sub-verbs. */
	const char *otherwise;          /* the sub-verb to run where the user names none, and run() is NULL */
	/* Runs the verb and returns the exit code. NULL: the verb only has sub-verbs. */
	int (*run)(const struct arguments *arguments);
};

/* Options that stand before the verb: `kiln OPTION VERB`. */
extern const struct verb_option verb_global_options[];

/* Gets option `index` of a verb, counted from 0: first the verb's own lists of options, then the parameters
 * of its methods. A parameter of two methods counts once. Returns false after the last option. The option
 * --help, which every verb has, is not counted. */
bool verb_option_at(const struct verb *verb, uint32_t index, struct verb_option *ret_option);
#define VERB_WORD_BYTES 64u
/* Writes what the user types: "--start-from" for the parameter start_from. Returns `out`. */
const char *verb_option_word(const struct verb_option *option, char out[static VERB_WORD_BYTES]);
/* Writes the choices of a VERB_CHOICE option as "a, b, c". Returns `out`. */
const char *verb_choices(const struct verb_option *option, char *out, size_t size);
/* Returns the sub-verb of this name, or NULL. */
const struct verb *verb_sub(const struct verb *verb, const char *name);
/* Returns the verb's summary, a phrase for lists of verbs. */
const char *verb_summary(const struct verb *verb);
/* Returns the row of the verb's method `index`; NULL: the verb has no such method. */
const struct control_method *verb_method(const struct verb *verb, uint32_t index);
/* Prints the synopsis, one line for each form of the command, `prefix` before each line ("kiln ", or markup
 * of a manual page). `parent`: the verb to which the sub-verb `verb` belongs, or NULL. For a verb with
 * sub-verbs the lines of all sub-verbs are printed. */
void verb_synopsis(const struct verb *verb, const struct verb *parent, const char *prefix, FILE *out);
