/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/gpu.h"
#include "drivers/gpu/internal.h"

#include <inttypes.h>
#include <string.h>

struct gpu_host {
	struct gpu *gpu;
	void *memory;
	cl_mem pinned; /* NULL: the memory is not pinned */
	bool mapped;   /* the memory is a mapping of `pinned` */
	bool owned;    /* the memory is of malloc() */
};

/* Makes pinned memory. A driver that makes none is not asked again. */
static void pin_new(struct gpu_host *host, uint64_t bytes)
{
	struct gpu *gpu = host->gpu;
	cl_int code;

	host->pinned =
		clCreateBuffer(gpu->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
	if (code == CL_SUCCESS)
		host->memory = clEnqueueMapBuffer(gpu->sending, host->pinned, CL_TRUE,
						  CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &code);
	host->mapped = gpu->stages = code == CL_SUCCESS;
	if (host->mapped)
		memset(host->memory, 0, bytes);
}

int gpu_host_create(struct gpu *gpu, uint64_t bytes, struct gpu_host **ret_host, struct error *err)
{
	CLEANUP(gpu_host_freep) struct gpu_host *host = calloc(1, sizeof(*host));

	if (!host)
		return error_set(err, -ENOMEM, "host memory: out of memory");
	host->gpu = gpu;
	if (gpu->stages)
		pin_new(host, bytes);
	if (!host->mapped) {
		host->memory = calloc(1, bytes);
		host->owned = true;
	}
	if (!host->memory)
		return error_set(err, -ENOMEM, "host memory of %" PRIu64 " bytes: out of memory", bytes);
	*ret_host = TAKE(host);
	return 0;
}

int gpu_host_wrap(struct gpu *gpu, void *memory, uint64_t bytes, struct gpu_host **ret_host,
		  struct error *err)
{
	CLEANUP(gpu_host_freep) struct gpu_host *host = calloc(1, sizeof(*host));
	cl_int code = CL_SUCCESS;

	if (!host)
		return error_set(err, -ENOMEM, "host memory: out of memory");
	host->gpu = gpu;
	host->memory = memory;
	if (gpu->stages)
		host->pinned = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
					      memory, &code);
	if (code != CL_SUCCESS)
		return cl_allocation_error(gpu, err, code,
					   "clCreateBuffer on %" PRIu64 " bytes of host memory", bytes);
	*ret_host = TAKE(host);
	return 0;
}

void *gpu_host_memory(const struct gpu_host *host)
{
	return host->memory;
}

void gpu_host_free(struct gpu_host *host)
{
	if (!host)
		return;
	if (host->mapped)
		(void)clEnqueueUnmapMemObject(host->gpu->sending, host->pinned, host->memory, 0, NULL, NULL);
	if (host->pinned)
		(void)clReleaseMemObject(host->pinned);
	if (host->owned)
		free(host->memory);
	free(host);
}

void gpu_host_freep(struct gpu_host **host)
{
	gpu_host_free(*host);
}
