/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this driver; nobody else includes it. */
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
	char identity[768]; /* platform, its version, device, driver: a line each; goes into the name of a
			       cached binary */
	char description[512];
};

struct gpu_buffer {
	const struct gpu *gpu;
	cl_mem memory;
	uint64_t bytes;
	void *host; /* owned; on a CPU device the memory itself, else the copy of gpu_buffer_fetch(), or
		       NULL */
};

/* Returns the name of a code, such as "CL_OUT_OF_RESOURCES". */
const char *cl_error_name(cl_int code);
/* error_set() with the errno of the code. The text begins with the device and ends with the code's name. */
int cl_error(const struct gpu *gpu, struct error *err, cl_int code, const char *format, ...) PRINTF(4, 5);
