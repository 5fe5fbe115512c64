/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX that NVIDIA's OpenCL makes of a program: text, the binary of the program. */
#pragma once

#include <stddef.h>

/* Stands in inline PTX before an instruction that only sm_90a has. */
#define PTX_MARK "//sm_90a "

/* Returns the same PTX for the architecture sm_90a, with its instructions: without the marks. NVIDIA's OpenCL
 * compiles for sm_90, and refuses these instructions there, but builds PTX of either architecture. The text
 * ends with a zero; the caller frees it. Returns NULL where `ptx` has no mark or is no PTX for sm_90, and
 * where there is no memory. */
char *ptx_for_sm_90a(const char *ptx, size_t bytes);
