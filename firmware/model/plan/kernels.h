/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL program of every plan: the files of kernels/, embedded at build, and what their build options
 * say. */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/graph/graph.h"
#include "model/plan/plan.h"

/* Shape of the optimizers' kernels: items a group, float16 vectors an item. On a CPU device an item is a long
 * run, elsewhere neighbours are neighbours. */
struct update_shape {
	uint32_t group, run;
};

struct update_shape update_shape(bool cpu);

/* `storage`: graph.storage, F32, F16 or BF16. The program has the files that define kernels of these plans;
 * with no plan, all of them: each file more is compiled by the first start and read by every later one. */
MUST_CHECK int kernels_build(struct gpu *gpu, enum dtype storage, const struct plan *const *plan,
			     uint32_t plans, struct gpu_program **ret_program, struct error *err);
