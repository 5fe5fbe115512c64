/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the raw text before libconfig 1.5 gets it, which wraps integers without an L silently and follows
 * @include.
 */
#pragma once

#include "core/base/mistakes.h"

#include <stdint.h>

/* Notes @include, integers without an L suffix outside int32, and bytes that the run record could not hold:
 * NUL and what is not UTF-8. `text` is NUL-terminated behind `bytes`. *ret_text is the same with every L in
 * its place, so that libconfig reads what the file says and the checks of the keys go on with it: those that
 * the key's own bounds refuse are left to them. Malloc'ed, the caller frees.
 * Returns 0, also after such a mistake; -EINVAL when libconfig must not see the text. */
MUST_CHECK int config_scan(const char *text, uint64_t bytes, struct mistakes *mistakes, char **ret_text);
