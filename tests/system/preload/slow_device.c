/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: each launch of a kernel takes a millisecond longer. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <time.h>

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
			      const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
			      const cl_event *wait, cl_event *event)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
		       cl_uint, const cl_event *, cl_event *);

	*(void **)&real = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
	(void)nanosleep(&nap, NULL);
	return real(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}
