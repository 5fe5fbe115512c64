/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors in the memory of GPUs that the GPU could not correct: counters of NVIDIA's library (NVML,
 * nvmlDeviceGetTotalEccErrors) and of amdgpu's files ras/NAME_err_count (Linux,
 * Documentation/gpu/amdgpu/ras.rst). A counter begins at 0 when the driver is loaded.
 *
 * Order: zeroed -> memory_pass*. One thread of a process.
 */
#pragma once

#include "drivers/sensors/sensors.h"

#include <stdint.h>

#define MEMORY_GPUS_MAX 32u

/* Called with the name of a GPU and its counter, or what was added to it. */
typedef void memory_each(void *context, const char *gpu, uint64_t errors);

struct memory_state {
	struct {
		char name[SENSORS_NAME_BYTES];
		uint64_t errors;
	} gpu[MEMORY_GPUS_MAX];
	unsigned gpus;
};

/* Compares every counter with the pass before, and calls `grown` for each that grew. A GPU that is seen for
 * the first time is only noted: what it counted before is in the kernel's log. `folder`: /sys/class/drm. */
void memory_pass(struct memory_state *state, const char *folder, memory_each *grown);

/* Calls `each` for every GPU whose driver is amdgpu and counts errors; its name is its PCI address. */
void memory_amd(const char *folder, memory_each *each, void *context);
/* Does the same for GPUs with NVIDIA's driver. As sensors_nvidia(). */
void memory_nvidia(memory_each *each, void *context);
