/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell completions made from the table of verbs: verbs, sub-verbs, options, and the values of an option that
 * are files, folders or words of a list. rootfs/completions holds their output; a test compares the two.
 */
#pragma once

#include "cli/base/verb.h"

/* Writes the completions of one shell: bash, zsh or fish. Returns false where the name is none of these. */
bool completion_print(const char *shell, const struct verb *const *verbs, FILE *out);
