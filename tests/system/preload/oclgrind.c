/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD for oclgrind 21.10 with --uninitialized. It takes for initialised only what one write of a whole
 * buffer wrote: after a write of a part, a fill or a copy it reports every load from there. Kiln's buffers
 * are zeroed when they are made, so a buffer has no uninitialised memory. Here each such command becomes a
 * write of the whole buffer. What oclgrind then reports is local or private memory. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

typedef cl_int write_function(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,
			      const cl_event *, cl_event *);

/* A range of a buffer that is no range itself. */
struct place {
	cl_mem whole;
	size_t offset, bytes; /* bytes: of the whole buffer */
};

static struct place place_of(cl_mem buffer, size_t offset)
{
	struct place place = { buffer, offset, 0 };
	cl_mem parent = NULL;
	size_t origin = 0;

	(void)clGetMemObjectInfo(buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem), &parent, NULL);
	(void)clGetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof(origin), &origin, NULL);
	if (parent) {
		place.whole = parent;
		place.offset += origin;
	}
	(void)clGetMemObjectInfo(place.whole, CL_MEM_SIZE, sizeof(place.bytes), &place.bytes, NULL);
	return place;
}

/* Writes the whole buffer, with `data` in its place. */
static cl_int write_whole(cl_command_queue queue, struct place place, const void *data, size_t bytes,
			  cl_uint waits, const cl_event *wait, cl_event *event)
{
	static write_function *next;
	uint8_t *contents = malloc(place.bytes);
	cl_int code;

	if (!contents)
		return CL_OUT_OF_HOST_MEMORY;
	if (!next)
		NEXT(clEnqueueWriteBuffer, next);
	code = clEnqueueReadBuffer(queue, place.whole, CL_TRUE, 0, place.bytes, contents, waits, wait, NULL);
	if (code == CL_SUCCESS) {
		memcpy(contents + place.offset, data, bytes);
		code = next(queue, place.whole, CL_TRUE, 0, place.bytes, contents, 0, NULL, event);
	}
	free(contents);
	return code;
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
			    size_t bytes, const void *data, cl_uint waits, const cl_event *wait,
			    cl_event *event)
{
	(void)blocking;
	return write_whole(queue, place_of(buffer, offset), data, bytes, waits, wait, event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_bytes,
			   size_t offset, size_t bytes, cl_uint waits, const cl_event *wait, cl_event *event)
{
	uint8_t *data = malloc(bytes);
	cl_int code;

	if (!data)
		return CL_OUT_OF_HOST_MEMORY;
	for (size_t i = 0; i < bytes; i += pattern_bytes)
		memcpy(data + i, pattern, pattern_bytes);
	code = write_whole(queue, place_of(buffer, offset), data, bytes, waits, wait, event);
	free(data);
	return code;
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
			   size_t to_offset, size_t bytes, cl_uint waits, const cl_event *wait,
			   cl_event *event)
{
	uint8_t *data = malloc(bytes);
	cl_int code;

	if (!data)
		return CL_OUT_OF_HOST_MEMORY;
	code = clEnqueueReadBuffer(queue, from, CL_TRUE, from_offset, bytes, data, waits, wait, NULL);
	if (code == CL_SUCCESS)
		code = write_whole(queue, place_of(to, to_offset), data, bytes, 0, NULL, event);
	free(data);
	return code;
}

/* On a CPU device the host writes to a buffer without a command. */
cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *ret_code)
{
	static cl_mem (*next)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
	cl_command_queue queue;
	cl_device_id device;
	cl_mem buffer;

	if (!next)
		NEXT(clCreateBuffer, next);
	buffer = next(context, flags, bytes, host, ret_code);
	if (!buffer || !host)
		return buffer;
	(void)clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(cl_device_id), &device, NULL);
	queue = clCreateCommandQueue(context, device, 0, ret_code);
	if (queue) {
		*ret_code = write_whole(queue, (struct place){ buffer, 0, bytes }, host, 0, 0, NULL, NULL);
		(void)clReleaseCommandQueue(queue);
	}
	return buffer;
}
