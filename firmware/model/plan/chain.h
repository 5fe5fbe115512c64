/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: on a CPU device, consecutive launches of a plan become phases of one launch of the kernel `chain`
 * (kernels/chain.cl). Its work-groups go through the work-groups of all phases in order. The results have the
 * same bits as with single launches.
 *
 * Why: between two launches the driver's threads sleep, and waking them often takes as long as a small launch
 * itself. Inside a chain the threads stay awake and wait in a short loop for the phase before.
 *
 * Why a chain cannot hang: a work-group claims the next groups of a phase only after every group of the
 * phases before has ended, and never waits while it has claimed groups that it has not run. If it waits too
 * long, because the thread that it waits for has lost its core to another program, it ends and leaves the
 * rest of the chain to that thread. So a chain ends on however many threads its work-groups run, even on one.
 *
 * Only kernels with the property SINGLE (plan/kernel_table.h) can be phases; launches of other kernels remain
 * single launches. A chain is as long as possible, but a launch on large tensors is a chain by itself: it
 * takes far longer than a wake-up. In a program with chains (kernels_build()) only `chain` is a kernel;
 * SINGLE kernels are functions that it calls.
 *
 * Order: layout_work() -> chain_plan() -> kernels_build(), which calls chain_cases(). Threads: only the one
 * of the model.
 */
#pragma once

#include "model/plan/plan.h"

/* Puts chains into a fused plan; does nothing if the plan is not for a CPU device. Call it after
 * layout_work(), because a phase stores the offsets of tensors in `arena`, the buffers of the arenas. */
MUST_CHECK int chain_plan(struct plan *plan, struct gpu *gpu, struct gpu_buffer *const arena[ARENA_MAX],
			  struct error *err);

/* Returns OpenCL text, the cases by which `chain` calls the kernels of these plans' phases; *ret_text is NULL
 * where no plan has a chain. The caller frees it. */
MUST_CHECK int chain_cases(const struct plan *const *plan, uint32_t plans, char **ret_text,
			   struct error *err);
