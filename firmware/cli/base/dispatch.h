/* SPDX-License-Identifier: Apache-2.0 */
/* Runs what the user typed: finds the verb's row, parses the arguments, then prints help or runs the verb. */
#pragma once

#include "cli/base/verb.h"

/* Runs `verb`, or its sub-verb that argv[1] names. argv[0] is the verb's name, and the arguments follow.
 * Returns the exit code of the verb, or CLI_USAGE after printing a sentence. */
int dispatch(const struct verb *const *verbs, const struct verb *verb, int argc, char **argv);
