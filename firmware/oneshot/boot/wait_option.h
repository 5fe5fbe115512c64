/* SPDX-License-Identifier: Apache-2.0 */
/* The option with which a verb is told how many seconds it waits. */
#pragma once

#include <stdbool.h>

/* Reads the option into *wait_s, which stays as it is where the option is not given. Returns false where its
 * value is no whole number, and says so on standard error. */
bool wait_option(int argc, char **argv, const char *option, unsigned *wait_s);
