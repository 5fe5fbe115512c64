/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: on a CPU device, consecutive launches of a plan become one launch, kernels/chain.cl, whose
 * work-groups go through those of all of them, phase by phase, with the same bits. A driver's threads sleep
 * between two launches, and waking them takes as long as many a launch; inside a chain they spin.
 *
 * Launches whose kernels are SINGLE (kernels/groups.cl) make chains, a large one by itself, the others the
 * longest possible; launches of other kernels stay as they are. The program of plans with chains
 * (kernels_build()) has the kernel `chain`, and what it calls are no kernels.
 */
#pragma once

#include "model/plan/plan.h"

/* After layout_work(), before kernels_build(): put chains into a fused plan. Nothing on other devices.
 * `arena`: the buffers that hold the graph's tensors. */
MUST_CHECK int chain_plan(struct plan *plan, struct gpu *gpu, struct gpu_buffer *const arena[ARENA_MAX],
			  struct error *err);

/* For kernels_build(): the text that tells `chain` which kernels these plans' chains have; *ret_text NULL
 * without any chain. The caller frees it. */
MUST_CHECK int chain_cases(const struct plan *const *plan, uint32_t plans, char **ret_text,
			   struct error *err);
