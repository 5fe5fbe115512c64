/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: in the rank KILN_WRONG_RANK of Open MPI, the KILN_WRONG_WRITE-th of the large writes to a
 * device, which are gradients, changes a bit. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

#define LARGE 512u

static int number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : -1;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool wait, size_t offset, size_t bytes,
			    const void *data, cl_uint waits, const cl_event *list, cl_event *event)
{
	static cl_int (*next)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
			      const cl_event *, cl_event *);
	static int writes;

	if (!next)
		NEXT(clEnqueueWriteBuffer, next);
	/* The gradients are written with `wait`. */
	if (wait && offset == 0 && bytes >= LARGE &&
	    number_of("OMPI_COMM_WORLD_RANK") == number_of("KILN_WRONG_RANK") &&
	    ++writes == number_of("KILN_WRONG_WRITE"))
		((unsigned char *)(unsigned long)data)[2] ^= 0x40;
	return next(queue, buffer, wait, offset, bytes, data, waits, list, event);
}
