/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model takes of its device's memory, known before anything is allocated: state (weights, what layers
 * keep, optimizer slots) twice, the second time for snapshots; gradients; activations and scratch for
 * config.run.batch_rows rows; and where the device does not read the host's memory, a batch.
 */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/graph/graph.h"

/* Of a graph that is laid out. `cpu`: batches stay in the host's memory. */
uint64_t memory_needed(const struct graph *graph, bool cpu);

/* Errors: -EINVAL it is more than `have` has, in all or in one buffer: how much, for what, which layers take
 * most. */
MUST_CHECK int memory_check(const struct graph *graph, bool cpu, const struct gpu_memory *have,
			    struct error *err);
