/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass over the raw text before libconfig 1.5 parses it. libconfig silently wraps integers without an L to
 * 32 bits, and follows @include.
 */
#pragma once

#include "core/base/mistakes.h"

#include <stdint.h>

/* Notes @include, integers outside int32 without an L suffix, and bytes that the run record could not hold:
 * NUL and bytes that are not UTF-8. `text` has a NUL after `bytes`. *ret_text is the text with each missing L
 * added, so that libconfig reads the true number and the other checks go on. An integer that its key's bounds
 * refuse is left to the check of these bounds. The caller frees *ret_text. Returns 0, also after a mistake;
 * -EINVAL where libconfig must not see the text. */
MUST_CHECK int config_scan(const char *text, uint64_t bytes, struct mistakes *mistakes, char **ret_text);
