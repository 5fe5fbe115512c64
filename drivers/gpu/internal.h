/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of drivers/gpu and its tests; no other file includes this header. */
#pragma once

#include "drivers/gpu/gpu.h"

#include <CL/cl.h>

struct said;

struct gpu {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	/* second queue, for gpu_buffer_fetch() on other threads; NULL on a CPU device */
	cl_command_queue transfers;
	/* third queue, for gpu_send(); NULL on a CPU device. `sent`: its last copy that gpu_await_sent() has
	 * not waited for, or NULL */
	cl_command_queue sending;
	cl_event sent;
	/* fourth queue, for gpu_receive(); NULL before the first of them */
	cl_command_queue receiving;
	bool cpu;
	bool stages;             /* gpu_stages() returns this */
	struct said *said;       /* owned: the last message of the driver about an error */
	char pci[GPU_PCI_BYTES]; /* PCI address, "" = not known */
	/* one line each for platform, its version, device and driver; part of the hash that names a cached
	 * binary */
	char identity[768];
	char description[512];
};

struct gpu_buffer {
	const struct gpu *gpu;
	cl_mem memory;
	uint64_t bytes;
	/* Owned memory: on a CPU device that of the buffer itself; on a GPU the copy that gpu_buffer_fetch()
	 * made, or NULL. */
	void *host;
	/* A range points to the buffer that it is a part of; NULL in other buffers. */
	struct gpu_buffer *whole;
	/* A whole buffer points to its youngest range, and each range to the next older one. */
	struct gpu_buffer *range;
	/* gpu_buffer_free() was called for this range, but a younger range is still in use. */
	bool unused;
};

/* Returns the name of an error code of OpenCL, such as "CL_OUT_OF_RESOURCES". */
const char *cl_error_name(cl_int code);
/* Calls error_set() with the errno that belongs to the OpenCL code, and returns it. The text has the device,
 * the code's name, what the driver said since the last error, and what to do. CL_OUT_OF_RESOURCES is -EIO:
 * the device or its driver failed. */
int cl_error(const struct gpu *gpu, struct error *err, cl_int code, const char *format, ...) PRINTF(4, 5);
/* Does what cl_error() does, for a call that allocates: there CL_OUT_OF_RESOURCES is -ENOMEM. */
int cl_allocation_error(const struct gpu *gpu, struct error *err, cl_int code, const char *format, ...)
	PRINTF(4, 5);

/* Makes the place that keeps the last message of the driver; the caller frees it with free(). Returns NULL if
 * there is no memory. */
struct said *said_new(void);
/* Keeps a message of the driver in `context`, a struct said. clCreateContext() takes both; the driver calls
 * this function on any thread. */
void CL_CALLBACK gpu_said(const char *text, const void *more, size_t bytes, void *context);

/* Suffix of the names of cached binaries. */
#define GPU_BINARY_END ".bin"
/* Removes the binaries of the folder that are unused for longest, by the time of the last change, until the
 * others have at most `most_bytes` together. Keeps the youngest one, and every other file. What cannot be
 * removed stays. */
void gpu_prune(const char *path, uint64_t most_bytes);
