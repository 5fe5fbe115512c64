/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a program. Every program answers --help and --version, and refuses arguments that its
 * usage does not have before it does anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sysexits.h>

#define PROGRAM_GOES_ON (-1) /* no exit code: the program does its work */

struct program {
	const char *name; /* "kiln-uploadd" */
	/* The usage after the name. It decides what is allowed: an option is a word with "--" in brackets,
	 * and has a value if a word in capitals follows; each word outside of brackets is an operand that
	 * must be given, a word in brackets of its own one that may be given. "[ARGUMENT...]" at the end
	 * stands for all that follows the operands, which belongs to another program. Small words with '|'
	 * between them are the words that an operand may be; capitals stand for any word:
	 * "[--rank R --world N]", "check|raise [VERSION]"; "" = no arguments. */
	const char *arguments;
	const char *about; /* what the program does: one or more sentences */
};

/* Call it first in main(). Prints the help or the version on standard output, or what is wrong with the
 * arguments on standard error. Returns PROGRAM_GOES_ON; or the exit code: EX_OK after --help (-h) and
 * --version, EX_IOERR where standard output cannot be written, EX_USAGE. */
int program_begin(const struct program *program, int argc, char **argv);

/* Prints what is wrong and the usage on standard error. `found`: the wrong argument, NULL = none. Returns
 * EX_USAGE. */
int program_refuse(const struct program *program, const char *found, const char *why);

/* Prints "NAME VERSION" on standard output. */
void program_print_version(const char *name);

/* Returns the value of an option, after program_begin(); NULL = the option was not given. Of an option
 * without a value the result is not NULL, and has no other meaning. */
const char *program_option(int argc, char **argv, const char *option);

/* Reads a whole number of at most `max`, which has digits alone. Returns false for any other text. */
bool program_number(const char *text, uint64_t max, uint64_t *ret_number);
