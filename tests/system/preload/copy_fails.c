/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: in the rank KILN_COPY_FAILS_RANK of Open MPI, no copy from buffer to buffer of the device
 * succeeds. A rank that computes one lane copies its state so for a snapshot alone. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool fails(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted = getenv("KILN_COPY_FAILS_RANK");

	return rank && wanted && strcmp(rank, wanted) == 0;
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			   size_t to_offset, size_t bytes, cl_uint waits, const cl_event *wait,
			   cl_event *event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
			      const cl_event *, cl_event *);

	if (fails())
		return CL_OUT_OF_RESOURCES;
	/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clEnqueueCopyBuffer");
	return next(queue, from, to, from_offset, to_offset, bytes, waits, wait, event);
}
