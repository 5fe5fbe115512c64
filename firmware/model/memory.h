/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a model needs on its device, known before anything is allocated: the state (weights, state
 * of layers, optimizer slots) twice, the second copy for snapshots; gradients; activations and scratch for
 * config.run.batch_rows rows; and a batch, where the device does not read the host's memory.
 */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/graph/graph.h"

/* Returns the bytes that a graph with its layout needs. `cpu`: batches stay in the host's memory. */
uint64_t memory_needed(const struct graph *graph, bool cpu);

/* Checks that the device has the memory in all. Errors: -EINVAL, the text says how much is needed, for what,
 * and which layers need most. */
MUST_CHECK int memory_check(const struct graph *graph, bool cpu, const struct gpu_memory *have,
			    struct error *err);

/* Call it after the device refused the buffer of an arena with `code`. A device may give larger buffers than
 * it promises, so a larger one is tried first. Where this one was larger, sets the error: -EINVAL, the text
 * says so and which layers need most. Else leaves the error of the device. Returns the code of the error. */
int memory_refused(const struct graph *graph, enum arena arena, const struct gpu_memory *have, int code,
		   struct error *err);
