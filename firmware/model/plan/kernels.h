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

/* Returns which tensor cores of the device compute the products of a model with these numbers
 * (kernels/gemm_mma.cl): those of BF16, on an NVIDIA GPU whose driver compiles the instructions. Finds that
 * out by a build of 0.1 s, or two, which are shorter where the driver keeps what it compiled. */
enum tensor_cores kernels_tensor_cores(struct gpu *gpu, enum dtype storage);

/* Builds the program. `storage` is graph.storage: F32, F16 or BF16. Without a plan the program has every
 * kernel, and tensor cores if the device has them. Otherwise it has tensor cores if a plan uses them, and
 * only the files that define kernels of these plans, because the first start must compile each file, and
 * every later start must read the binary. */
MUST_CHECK int kernels_build(struct gpu *gpu, enum dtype storage, const struct plan *const *plan,
			     uint32_t plans, struct gpu_program **ret_program, struct error *err);
