/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX that NVIDIA's OpenCL makes of a program: text, the binary of the program. */
#pragma once

#include "core/base/error.h"

#include <stddef.h>

/* Stands in inline PTX before an instruction that only sm_90a has. */
#define PTX_MARK "//sm_90a "

/* The version of the conversion: each change of what it makes of a text takes another. */
#define PTX_VERSION "1"

/* Makes of PTX the same PTX for the architecture sm_90a, with its instructions: without the marks. NVIDIA's
 * OpenCL compiles for sm_90, and refuses these instructions there, but builds PTX of either architecture.
 * `ptx` ends at its first zero, or after `bytes`. *ret_text ends with a zero; the caller frees it. Errors:
 * -ENOENT the PTX has no mark behind its target; -ENOEXEC this is no PTX for sm_90 or sm_90a; -ENOMEM. */
MUST_CHECK int ptx_for_sm_90a(const char *ptx, size_t bytes, char **ret_text);
