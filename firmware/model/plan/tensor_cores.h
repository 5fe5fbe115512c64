/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor cores of a device, and the options of the programs that use them. For kernels.c and tests. */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/graph/graph.h"
#include "model/plan/plan.h"

/* OpenCL C 1.2, in which a pointer without an address space is private: PoCL 6 would take the newest version
 * that it knows, in which such a pointer is generic. No fast-math: a NaN must stay a NaN. Denormals count as
 * zero: if a unit gets no gradient, Adam's slots for it become denormals within a thousand steps, remain
 * denormals, and make a step three times as long on a CPU. No warnings (-w): on a CPU without AVX-512 Clang
 * warns about each argument that is a vector of 16 numbers, and PoCL prints the number of warnings to stderr.
 */
#define PROGRAM_OPTIONS "-w -cl-std=CL1.2 -cl-denorms-are-zero"

/* Returns the option, with a space before it, of a program whose numbers have this type: F32, F16 or BF16. */
const char *program_storage(enum dtype storage);
/* Returns the options of a program that uses these cores of the device. */
const char *tensor_cores_option(const struct gpu *gpu, enum tensor_cores cores);
/* Multiplies two blocks of 16 x 16 numbers of the type F16 or BF16 by matrix instructions of AMD's GPUs
 * (kernels/waves.clh), with the option of such a program, and finds whether each sum is right. The order of
 * rows, columns and terms in the lanes of a wave is from manuals: a device on which it is another one must
 * not use these instructions, and one warning in the log names it. A program that is not compiled is not
 * right. Errors: those of the other calls of gpu.h. */
MUST_CHECK int tensor_cores_try(struct gpu *gpu, enum dtype storage, const char *option, bool *ret_right,
				struct error *err);
