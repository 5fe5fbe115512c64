/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: on a CPU device, consecutive launches of a plan become phases of one launch of the kernel `chain`
 * (kernels/chain.cl). Its work-groups go through the work-groups of all phases in order. The bits are those
 * of single launches.
 *
 * Why: between two launches the driver's threads sleep, and waking them takes as long as many a small launch
 * itself. Inside a chain the threads stay awake and wait in a short loop for the phase before.
 *
 * Why a chain cannot hang: a work-group takes the next free groups of a phase, only after every group of the
 * phases before has ended, and waits for nobody while it holds some. If it waits too long, because the thread
 * it waits for has lost its core to another program, it leaves the rest of the chain to that thread. So a
 * chain ends on however many threads its work-groups run, even on one.
 *
 * Only kernels with the property SINGLE (plan/kernel_table.h) can be phases; launches of other kernels stay
 * as they are. A chain is as long as possible, but a launch on large tensors is a chain by itself: it takes
 * far longer than a wake-up costs. In a program with chains (kernels_build()) only `chain` is a kernel;
 * SINGLE kernels are functions that it calls.
 *
 * Order: layout_work() -> chain_plan() -> kernels_build(), which calls chain_cases(). Threads: the model's
 * one.
 */
#pragma once

#include "model/plan/plan.h"

/* Puts chains into a fused plan; does nothing for other devices. Call after layout_work(): a phase names
 * tensors by their offsets in `arena`, the buffers of the graph's arenas. */
MUST_CHECK int chain_plan(struct plan *plan, struct gpu *gpu, struct gpu_buffer *const arena[ARENA_MAX],
			  struct error *err);

/* Returns OpenCL text, the cases by which `chain` calls the kernels of these plans' phases; *ret_text is NULL
 * where no plan has a chain. The caller frees it. */
MUST_CHECK int chain_cases(const struct plan *const *plan, uint32_t plans, char **ret_text,
			   struct error *err);
