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

/* Returns whether the device runs kernels/gemm_mma.cl by tensor cores: an NVIDIA GPU whose driver compiles
 * their instructions. The first call may compile for 0.1 s; later starts load the binary from the cache. */
bool kernels_have_tensor_cores(struct gpu *gpu);

/* Builds the program. `storage` is graph.storage: F32, F16 or BF16. Without a plan the program has every
 * kernel. Otherwise it has only the files that define kernels of these plans, because the first start must
 * compile each file, and every later start must read the binary. */
MUST_CHECK int kernels_build(struct gpu *gpu, enum dtype storage, const struct plan *const *plan,
			     uint32_t plans, struct gpu_program **ret_program, struct error *err);
