/* SPDX-License-Identifier: Apache-2.0 */
/* From words to a verb: finds the row, parses the arguments, prints help or runs. */
#pragma once

#include "cli/base/verb.h"

/* Runs the verb of argv[0] with its arguments. Returns its exit code, or CLI_USAGE after a sentence. */
int dispatch(const struct verb *const *verbs, const struct verb *verb, int argc, char **argv);
