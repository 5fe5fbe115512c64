/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL program of the plans: files of kernels/, embedded at build, and the build options. */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/graph/graph.h"
#include "model/plan/plan.h"

/* Shape of the launches of an optimizer: `group` work-items in a group, which updates `vectors` vectors of 16
 * floats. On a CPU device an item updates `run` neighbouring vectors; on other devices a quarter of one. */
struct update_shape {
	uint32_t group, run, vectors;
};

struct update_shape update_shape(bool cpu);

/* Finds which tensor cores of the device compute the products of a model with these numbers
 * (kernels/gemm_mma.cl): those of BF16 and F16, and with `tf32` those of F32, which are rounded to TF32; on
 * an NVIDIA GPU of compute capability 8.0 or later whose driver compiles the instructions, and, of BF16 and
 * F16 alone, on a GPU of AMD whose driver compiles them and which then multiplies two blocks right. That
 * takes up to three builds of 0.1 s, which are shorter where the driver keeps what it compiled. Errors: those
 * of gpu.h, except that a build that failed says that the device lacks the cores. */
MUST_CHECK int kernels_tensor_cores(struct gpu *gpu, enum dtype storage, bool tf32,
				    enum tensor_cores *ret_cores, struct error *err);

/* Builds the program. `storage` is graph.storage: F32, F16 or BF16. Without a plan the program has every
 * kernel, and tensor cores if the device has them. Otherwise it has the kernels of these plans alone, and
 * tensor cores if one of them uses these: the first start must compile each kernel, and every later start
 * must read the binary. */
MUST_CHECK int kernels_build(struct gpu *gpu, enum dtype storage, const struct plan *const *plan,
			     uint32_t plans, struct gpu_program **ret_program, struct error *err);
