/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/gpu.h"
#include "drivers/gpu/internal.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

/* CPU devices use host memory in place; it must be aligned to a page. */
#define HOST_ALIGN ((uint64_t)4096)
/* Large pages help kernels that read a matrix column by column: with small pages each row is in another page,
 * which costs a miss of the processor's page table cache (TLB). */
#define LARGE_PAGE ((uint64_t)2 << 20)

static uint64_t host_bytes(uint64_t bytes)
{
	return (bytes + HOST_ALIGN - 1) / HOST_ALIGN * HOST_ALIGN;
}

/* Maps zeroed memory, on large pages where the kernel has some. A page takes memory only once somebody writes
 * to it: a network that is never stored needs no memory for a copy of its state. */
static void *host_memory(uint64_t bytes)
{
	const uint64_t align = bytes < LARGE_PAGE ? HOST_ALIGN : LARGE_PAGE, rounded = host_bytes(bytes);
	uint8_t *mapped, *memory;
	uint64_t before;

	if (!rounded)
		return NULL;
	mapped = mmap(NULL, rounded + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		return NULL;
	before = (align - (uintptr_t)mapped % align) % align;
	memory = mapped + before;
	if (before)
		(void)munmap(mapped, before);
	if (align > before)
		(void)munmap(memory + rounded, align - before);
	if (bytes >= LARGE_PAGE)
		(void)madvise(memory, rounded, MADV_HUGEPAGE);
	return memory;
}

struct gpu_memory gpu_memory(const struct gpu *gpu)
{
	cl_ulong bytes = 0, buffer_bytes = 0;

	(void)clGetDeviceInfo(gpu->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
	(void)clGetDeviceInfo(gpu->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(buffer_bytes), &buffer_bytes,
			      NULL);
	return (struct gpu_memory){ bytes, buffer_bytes };
}

/* Fills the memory with zeros and waits for it: gpu_send() copies by another queue, which could be faster. */
static int clear(struct gpu *gpu, const struct gpu_buffer *buffer, struct error *err)
{
	const cl_uchar zero = 0;
	cl_event done;
	cl_int code = clEnqueueFillBuffer(gpu->queue, buffer->memory, &zero, sizeof(zero), 0, buffer->bytes,
					  0, NULL, &done);

	if (code == CL_SUCCESS) {
		code = clWaitForEvents(1, &done);
		(void)clReleaseEvent(done);
	}
	return code == CL_SUCCESS
		       ? 0
		       : cl_allocation_error(gpu, err, code, "clEnqueueFillBuffer of %" PRIu64 " bytes",
					     buffer->bytes);
}

int gpu_buffer_create(struct gpu *gpu, uint64_t bytes, struct gpu_buffer **ret_buffer, struct error *err)
{
	CLEANUP(gpu_buffer_freep) struct gpu_buffer *buffer = calloc(1, sizeof(*buffer));
	cl_int code;
	int r;

	if (!buffer)
		return error_set(err, -ENOMEM, "buffer: out of memory");
	buffer->gpu = gpu;
	buffer->bytes = bytes;
	if (gpu->cpu) {
		buffer->host = host_memory(bytes);
		if (!buffer->host)
			return error_set(err, -ENOMEM, "buffer of %" PRIu64 " bytes: out of memory", bytes);
	}
	buffer->memory = clCreateBuffer(
		gpu->context, CL_MEM_READ_WRITE | (gpu->cpu ? (cl_mem_flags)CL_MEM_USE_HOST_PTR : 0), bytes,
		buffer->host, &code);
	if (code != CL_SUCCESS)
		return cl_allocation_error(gpu, err, code, "clCreateBuffer of %" PRIu64 " bytes", bytes);
	if (!gpu->cpu && (r = clear(gpu, buffer, err)) < 0)
		return r;
	*ret_buffer = TAKE(buffer);
	return 0;
}

int gpu_buffer_wrap(struct gpu *gpu, const void *host, uint64_t bytes, struct gpu_buffer **ret_buffer,
		    struct error *err)
{
	CLEANUP(gpu_buffer_freep) struct gpu_buffer *buffer = calloc(1, sizeof(*buffer));
	cl_int code;

	if (!buffer)
		return error_set(err, -ENOMEM, "buffer: out of memory");
	buffer->gpu = gpu;
	buffer->bytes = bytes;
	/* The device only reads the memory; the parameter of OpenCL is not const. */
	buffer->memory = clCreateBuffer(gpu->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes,
					(void *)(uintptr_t)host, &code);
	if (code != CL_SUCCESS)
		return cl_allocation_error(gpu, err, code,
					   "clCreateBuffer on %" PRIu64 " bytes of host memory", bytes);
	*ret_buffer = TAKE(buffer);
	return 0;
}

int gpu_buffer_sub(struct gpu_buffer *whole, uint64_t offset, uint64_t bytes, struct gpu_buffer **ret_buffer,
		   struct error *err)
{
	CLEANUP(gpu_buffer_freep) struct gpu_buffer *buffer = calloc(1, sizeof(*buffer));
	const cl_buffer_region region = { offset, bytes };
	cl_int code;

	if (!buffer)
		return error_set(err, -ENOMEM, "buffer: out of memory");
	buffer->gpu = whole->gpu;
	buffer->bytes = bytes;
	buffer->memory = clCreateSubBuffer(whole->memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
					   &region, &code);
	if (code != CL_SUCCESS)
		return cl_error(whole->gpu, err, code,
				"clCreateSubBuffer of %" PRIu64 " bytes at %" PRIu64 " in %" PRIu64, bytes,
				offset, whole->bytes);
	buffer->whole = whole;
	buffer->range = whole->range;
	whole->range = buffer;
	*ret_buffer = TAKE(buffer);
	return 0;
}

static void release(struct gpu_buffer *buffer)
{
	if (buffer->memory)
		(void)clReleaseMemObject(buffer->memory);
	if (buffer->host)
		(void)munmap(buffer->host, host_bytes(buffer->bytes));
	free(buffer);
}

/* Releases the unused ranges of a buffer, from the youngest to the first one in use. The order matters: where
 * two ranges overlap, NVIDIA's driver 580 ends the process in clReleaseMemObject() if the older range is
 * released first. */
static void release_ranges(struct gpu_buffer *whole)
{
	while (whole->range && whole->range->unused) {
		struct gpu_buffer *youngest = whole->range;

		whole->range = youngest->range;
		release(youngest);
	}
}

void gpu_buffer_free(struct gpu_buffer *buffer)
{
	if (!buffer)
		return;
	if (!buffer->whole) {
		release(buffer);
		return;
	}
	buffer->unused = true;
	release_ranges(buffer->whole);
}

void gpu_buffer_freep(struct gpu_buffer **buffer)
{
	gpu_buffer_free(*buffer);
}

int gpu_write(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
	      bool wait, struct error *err)
{
	cl_int code =
		clEnqueueWriteBuffer(gpu->queue, buffer->memory, wait, offset, bytes, data, 0, NULL, NULL);

	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clEnqueueWriteBuffer of %" PRIu64 " bytes at %" PRIu64,
				bytes, offset);
	return 0;
}

int gpu_send(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes,
	     struct error *err)
{
	cl_event event = NULL;
	cl_int code = clEnqueueWriteBuffer(gpu->sending, buffer->memory, CL_FALSE, offset, bytes, data, 0,
					   NULL, &event);

	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clEnqueueWriteBuffer of %" PRIu64 " bytes at %" PRIu64,
				bytes, offset);
	if (gpu->sent)
		(void)clReleaseEvent(gpu->sent);
	gpu->sent = event;
	return 0;
}

/* The queue for sending is in order, so its last copy is complete after all others. Another queue may wait
 * only for commands that were flushed. */
int gpu_await_sent(struct gpu *gpu, struct error *err)
{
	cl_int code;

	if (!gpu->sent)
		return 0;
	code = clFlush(gpu->sending);
	if (code == CL_SUCCESS)
		code = clEnqueueBarrierWithWaitList(gpu->queue, 1, &gpu->sent, NULL);
	(void)clReleaseEvent(gpu->sent);
	gpu->sent = NULL;
	return code == CL_SUCCESS ? 0 : cl_error(gpu, err, code, "clEnqueueBarrierWithWaitList");
}

int gpu_read(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
	     struct gpu_event *ret_event, struct error *err)
{
	cl_event event = NULL;
	cl_int code = clEnqueueReadBuffer(gpu->queue, buffer->memory, !ret_event, offset, bytes, data, 0,
					  NULL, ret_event ? &event : NULL);

	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clEnqueueReadBuffer of %" PRIu64 " bytes at %" PRIu64, bytes,
				offset);
	if (ret_event)
		*ret_event = (struct gpu_event){ event, gpu };
	return 0;
}

int gpu_receive(struct gpu *gpu, struct gpu_buffer *buffer, uint64_t offset, void *data, uint64_t bytes,
		struct gpu_event *ret_event, struct error *err)
{
	struct gpu_event before = { 0 };
	cl_event after, event = NULL;
	cl_int code = CL_SUCCESS;
	int r;

	if (!gpu->receiving)
		gpu->receiving = clCreateCommandQueue(gpu->context, gpu->device, 0, &code);
	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clCreateCommandQueue");
	if ((r = gpu_mark(gpu, &before, err)) < 0)
		return r;
	/* Another queue may wait only for commands that were flushed. */
	after = before.handle;
	r = gpu_flush(gpu, err);
	if (r == 0)
		code = clEnqueueReadBuffer(gpu->receiving, buffer->memory, CL_FALSE, offset, bytes, data, 1,
					   &after, &event);
	gpu_event_free(&before);
	if (event)
		*ret_event = (struct gpu_event){ event, gpu };
	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clEnqueueReadBuffer of %" PRIu64 " bytes at %" PRIu64, bytes,
				offset);
	if (r == 0 && (code = clFlush(gpu->receiving)) != CL_SUCCESS)
		return cl_error(gpu, err, code, "clFlush");
	return r;
}

void *gpu_buffer_memory(const struct gpu_buffer *buffer)
{
	return buffer->host;
}

int gpu_copy(struct gpu *gpu, struct gpu_buffer *from, struct gpu_buffer *to, struct gpu_event *ret_event,
	     struct error *err)
{
	cl_event event = NULL;
	cl_int code =
		clEnqueueCopyBuffer(gpu->queue, from->memory, to->memory, 0, 0, from->bytes, 0, NULL, &event);

	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clEnqueueCopyBuffer of %" PRIu64 " bytes", from->bytes);
	*ret_event = (struct gpu_event){ event, gpu };
	return 0;
}

int gpu_buffer_fetch(struct gpu *gpu, struct gpu_buffer *buffer, const struct gpu_event *after,
		     const void **ret_host, struct error *err)
{
	cl_event event = after->handle;
	cl_int code;
	int r = gpu_event_wait(after, err);

	if (r < 0)
		return r;
	if (!gpu->cpu) {
		if (!buffer->host)
			buffer->host = host_memory(buffer->bytes);
		if (!buffer->host)
			return error_set(err, -ENOMEM, "copy of %" PRIu64 " bytes: out of memory",
					 buffer->bytes);
		code = clEnqueueReadBuffer(gpu->transfers, buffer->memory, CL_TRUE, 0, buffer->bytes,
					   buffer->host, event ? 1 : 0, event ? &event : NULL, NULL);
		if (code != CL_SUCCESS)
			return cl_error(gpu, err, code, "clEnqueueReadBuffer of %" PRIu64 " bytes",
					buffer->bytes);
	}
	*ret_host = buffer->host;
	return 0;
}
