/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the raw text before libconfig 1.5 gets it, which wraps integers silently and follows @include.
 */
#pragma once

#include "core/error.h"

#include <stdint.h>

/* Refuses @include directives, integers without an L suffix outside int32, and bytes that the run record
 * could not hold: NUL and what is not UTF-8. Names FILE:LINE. `text` is NUL-terminated behind `bytes`.
 * Returns 0 or -EINVAL. */
MUST_CHECK int config_scan(const char *file, const char *text, uint64_t bytes, struct error *err);
