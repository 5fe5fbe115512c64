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

/* Checks that the device has the memory, in all and in one buffer. Errors: -EINVAL, the text says how much is
 * needed, for what, and which layers need most. */
MUST_CHECK int memory_check(const struct graph *graph, bool cpu, const struct gpu_memory *have,
			    struct error *err);
