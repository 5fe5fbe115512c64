/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: in the rank KILN_COPY_FAILS_RANK of Open MPI, no copy from buffer to buffer of the device
 * succeeds; in the rank KILN_READ_FAILS_RANK, no second copy to the host of as many bytes as the first. A
 * rank that computes one lane copies its state so for a snapshot alone. A rank that does not lead reads the
 * sums of the metrics once before it trains, and again for a comparison of the weights. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static atomic_size_t first_read; /* bytes */

static bool fails(const char *variable)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted = getenv(variable);

	return rank && wanted && strcmp(rank, wanted) == 0;
}

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			   size_t to_offset, size_t bytes, cl_uint waits, const cl_event *wait,
			   cl_event *event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
			      const cl_event *, cl_event *);

	if (fails("KILN_COPY_FAILS_RANK"))
		return CL_OUT_OF_RESOURCES;
	if (!next)
		NEXT(clEnqueueCopyBuffer, next);
	return next(queue, from, to, from_offset, to_offset, bytes, waits, wait, event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			   size_t bytes, void *data, cl_uint waits, const cl_event *wait, cl_event *event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
			      const cl_event *, cl_event *);

	if (fails("KILN_READ_FAILS_RANK") && bytes == atomic_load(&first_read))
		return CL_OUT_OF_RESOURCES;
	if (atomic_load(&first_read) == 0)
		atomic_store(&first_read, bytes);
	if (!next)
		NEXT(clEnqueueReadBuffer, next);
	return next(queue, buffer, blocking, offset, bytes, data, waits, wait, event);
}
