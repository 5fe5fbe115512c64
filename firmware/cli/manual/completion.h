/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints shell completions from the table of verbs: verbs, sub-verbs, options, and those values of options
 * that are files, folders or words of a list. The files in rootfs/completions are this output; a test
 * compares them.
 */
#pragma once

#include "cli/base/verb.h"

/* Writes the completions for one shell: bash, zsh or fish. Returns false for every other shell. */
bool completion_print(const char *shell, const struct verb *const *verbs, FILE *out);
