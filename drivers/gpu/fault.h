/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver of a GPU writes into the kernel's log when something is wrong. NVIDIA's driver numbers its
 * messages ("Xid", https://docs.nvidia.com/deploy/xid-errors: "NVRM: Xid (PCI:0000:3b:00): 79, pid=..., GPU
 * has fallen off the bus."); amdgpu's are sentences (Linux, drivers/gpu/drm/amd/amdgpu: amdgpu_device.c,
 * amdgpu_ras.c). No state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GPU_FAULT_DEVICE_BYTES 24u

struct gpu_fault {
	char device[GPU_FAULT_DEVICE_BYTES]; /* PCI address as the driver writes it: "0000:3b:00" */
	uint64_t xid;                        /* NVIDIA's number; 0 = AMD's driver */
	const char *text;                    /* the words of the driver, a part of the line */
	const char *advice;                  /* for the operator, a constant */
};

/* Tells whether a line of the kernel's log is a fault of a GPU. Lines about what Kiln does itself, such as
 * the end of a process that used the GPU (Xid 45), are none. ret_fault is only set for a fault. */
bool gpu_fault_parse(const char *line, struct gpu_fault *ret_fault);
