/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the raw text before libconfig 1.5 gets it, which wraps integers silently and follows @include.
 */
#pragma once

#include "core/error.h"

/* Refuses @include directives and integers without an L suffix outside int32, naming FILE:LINE.
 * `text` is NUL-terminated. Returns 0 or -EINVAL. */
MUST_CHECK int config_scan(const char *file, const char *text, struct error *err);
