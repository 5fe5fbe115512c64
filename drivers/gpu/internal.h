/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this driver share; nobody else includes it. */
#pragma once

#include "drivers/gpu/gpu.h"

#include <CL/cl.h>

struct gpu {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_command_queue transfers; /* for gpu_buffer_fetch() on other threads; NULL on a CPU device */
	bool cpu;
	char identity[768]; /* platform, its version, device, driver: a line each; part of the binary cache's
			       key */
	char description[512];
};

struct gpu_buffer {
	const struct gpu *gpu;
	cl_mem memory;
	uint64_t bytes;
	void *host; /* owned; on a CPU device the memory itself, else where gpu_buffer_fetch() puts it, or
		       NULL */
};

/* "CL_OUT_OF_RESOURCES" and the like. */
const char *cl_error_name(cl_int code);
/* error_set() with the negative errno that belongs to the code; the device comes first, the code's name last.
 */
int cl_error(const struct gpu *gpu, struct error *err, cl_int code, const char *format, ...) PRINTF(4, 5);
