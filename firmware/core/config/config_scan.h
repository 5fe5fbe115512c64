/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the raw text before libconfig 1.5 parses it, because libconfig silently wraps integers without an L
 * to 32 bits, opens the files of @include, and does not free a string that stands where its grammar allows
 * none: a client that sends such a text again and again would use up the memory of the daemon. libconfig also
 * needs seconds for a group with ten thousands of keys.
 */
#pragma once

#include "core/base/mistakes.h"

#include <stdint.h>

/* Finds mistakes in the text: @include, integers outside int32 without the suffix L, strings where none is
 * allowed, brackets nested too deep, too many keys in a group, NUL bytes, and bytes that are not UTF-8 (the
 * run record could not store those). `text` has a NUL after `bytes`. *ret_text is the text with each missing
 * L added, so that libconfig reads the true numbers and later checks can continue, and with a newline at the
 * end, without which libconfig 1.5 refuses a comment in the last line. An integer outside the bounds of its
 * key is no mistake here, because the check of the bounds finds it. The caller frees *ret_text. Returns 0,
 * also after a mistake; -EINVAL where the text must not be given to libconfig. */
MUST_CHECK int config_scan(const char *text, uint64_t bytes, struct mistakes *mistakes, char **ret_text);
