/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: from kernel launch KILN_DEVICE_LOST_AT (counted from 1) on, every command for a queue fails
 * with the OpenCL code KILN_DEVICE_LOST_CODE, as on a lost device. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_long launches;
static atomic_bool lost;

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : 0;
}

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
			      const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
			      const cl_event *wait, cl_event *event)
{
	static cl_int (*next)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
			      const size_t *, cl_uint, const cl_event *, cl_event *);

	if (atomic_fetch_add(&launches, 1) + 1 >= number("KILN_DEVICE_LOST_AT"))
		atomic_store(&lost, true);
	if (atomic_load(&lost))
		return (cl_int)number("KILN_DEVICE_LOST_CODE");
	if (!next)
		NEXT(clEnqueueNDRangeKernel, next);
	return next(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			   size_t bytes, void *data, cl_uint waits, const cl_event *wait, cl_event *event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
			      const cl_event *, cl_event *);

	if (atomic_load(&lost))
		return (cl_int)number("KILN_DEVICE_LOST_CODE");
	if (!next)
		NEXT(clEnqueueReadBuffer, next);
	return next(queue, buffer, blocking, offset, bytes, data, waits, wait, event);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			   size_t to_offset, size_t bytes, cl_uint waits, const cl_event *wait,
			   cl_event *event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
			      const cl_event *, cl_event *);

	if (atomic_load(&lost))
		return (cl_int)number("KILN_DEVICE_LOST_CODE");
	if (!next)
		NEXT(clEnqueueCopyBuffer, next);
	return next(queue, from, to, from_offset, to_offset, bytes, waits, wait, event);
}
