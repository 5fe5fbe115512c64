/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/gpu.h"

#include "drivers/cores/cores.h"
#include "drivers/gpu/internal.h"

#include <string.h>

static int find_device(struct gpu *gpu, const struct gpu_wish *wish, struct error *err)
{
	CLEANUP(free_ptr) struct gpu_listed *list = NULL;
	unsigned count, index;
	int r = gpu_list(&list, &count, err);

	if (r < 0 || (r = gpu_choose(list, count, wish, &index, err)) < 0)
		return r;
	gpu->platform = list[index].platform_handle;
	gpu->device = list[index].handle;
	gpu->cpu = list[index].cpu;
	memcpy(gpu->pci, list[index].pci, sizeof(gpu->pci));
	return 0;
}

static void describe(struct gpu *gpu)
{
	char platform[128] = "", version[128] = "", device[128] = "", driver[128] = "";

	(void)clGetPlatformInfo(gpu->platform, CL_PLATFORM_NAME, sizeof(platform) - 1, platform, NULL);
	(void)clGetPlatformInfo(gpu->platform, CL_PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
	(void)clGetDeviceInfo(gpu->device, CL_DEVICE_NAME, sizeof(device) - 1, device, NULL);
	(void)clGetDeviceInfo(gpu->device, CL_DRIVER_VERSION, sizeof(driver) - 1, driver, NULL);
	(void)snprintf(gpu->identity, sizeof(gpu->identity), "%s\n%s\n%s\n%s\n", platform, version, device,
		       driver);
	(void)snprintf(gpu->description, sizeof(gpu->description), "%s: %s, driver %s", platform, device,
		       driver);
}

/* A CPU that OpenCL shows as a GPU, and a GPU in a processor, use the host's memory: there a copy through
 * pinned memory is one copy more. */
static bool has_own_memory(const struct gpu *gpu)
{
	cl_bool unified = CL_TRUE;

	(void)clGetDeviceInfo(gpu->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
	return !gpu->cpu && !unified;
}

static int open_queues(struct gpu *gpu, struct error *err)
{
	const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM,
						     (cl_context_properties)gpu->platform, 0 };
	cl_uint align_bits = 0;
	cl_int code;

	(void)clGetDeviceInfo(gpu->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(align_bits), &align_bits,
			      NULL);
	if (align_bits / 8 > GPU_ALIGN_BYTES)
		return error_set(err, -ENODEV,
				 "%s: ranges of buffers must be aligned to %u bytes, at most %u is handled",
				 gpu->description, align_bits / 8, GPU_ALIGN_BYTES);
	gpu->context = clCreateContext(properties, 1, &gpu->device, gpu_said, gpu->said, &code);
	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clCreateContext");
	gpu->queue = clCreateCommandQueue(gpu->context, gpu->device, 0, &code);
	if (code == CL_SUCCESS && !gpu->cpu)
		gpu->transfers = clCreateCommandQueue(gpu->context, gpu->device, 0, &code);
	if (code == CL_SUCCESS && !gpu->cpu)
		gpu->sending = clCreateCommandQueue(gpu->context, gpu->device, 0, &code);
	return code == CL_SUCCESS ? 0 : cl_error(gpu, err, code, "clCreateCommandQueue");
}

int gpu_open(const struct gpu_wish *wish, struct gpu **ret_gpu, struct error *err)
{
	CLEANUP(gpu_closep) struct gpu *gpu = calloc(1, sizeof(*gpu));
	int r;

	if (!gpu)
		return error_set(err, -ENOMEM, "device: out of memory");
	gpu->said = said_new();
	if (!gpu->said)
		return error_set(err, -ENOMEM, "device: out of memory");
	r = find_device(gpu, wish, err);
	if (r < 0)
		return r;
	describe(gpu);
	gpu->stages = has_own_memory(gpu);
	r = open_queues(gpu, err);
	if (r < 0)
		return r;
	*ret_gpu = TAKE(gpu);
	return 0;
}

/* Waits for a marker, as clFinish() of Mesa 22 does not wait for commands that clFlush() has sent. */
static cl_int finish(cl_command_queue queue)
{
	cl_event marker;
	cl_int code = clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker);

	if (code != CL_SUCCESS)
		return code;
	code = clWaitForEvents(1, &marker);
	(void)clReleaseEvent(marker);
	return code;
}

void gpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	if (gpu->queue) {
		(void)finish(gpu->queue);
		(void)clReleaseCommandQueue(gpu->queue);
	}
	if (gpu->transfers)
		(void)clReleaseCommandQueue(gpu->transfers);
	if (gpu->receiving) {
		(void)finish(gpu->receiving);
		(void)clReleaseCommandQueue(gpu->receiving);
	}
	if (gpu->sent)
		(void)clReleaseEvent(gpu->sent);
	if (gpu->sending) {
		(void)finish(gpu->sending);
		(void)clReleaseCommandQueue(gpu->sending);
	}
	if (gpu->context)
		(void)clReleaseContext(gpu->context);
	free(gpu->said);
	free(gpu);
}

void gpu_closep(struct gpu **gpu)
{
	gpu_close(*gpu);
}

bool gpu_is_cpu(const struct gpu *gpu)
{
	return gpu->cpu;
}

bool gpu_stages(const struct gpu *gpu)
{
	return gpu->stages;
}

uint32_t gpu_units(const struct gpu *gpu)
{
	cl_uint units = 1;

	(void)clGetDeviceInfo(gpu->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	return units ? units : 1;
}

bool gpu_cores(const struct gpu *gpu, cpu_set_t *ret_cores)
{
	char device[64];

	(void)snprintf(device, sizeof(device), "/sys/bus/pci/devices/%s", gpu->pci);
	return *gpu->pci && cores_near("", device, ret_cores);
}

const char *gpu_description(const struct gpu *gpu)
{
	return gpu->description;
}

int gpu_flush(struct gpu *gpu, struct error *err)
{
	cl_int code = clFlush(gpu->queue);

	return code == CL_SUCCESS ? 0 : cl_error(gpu, err, code, "clFlush");
}

int gpu_finish(struct gpu *gpu, struct error *err)
{
	const cl_int sent = gpu->sending ? finish(gpu->sending) : CL_SUCCESS, done = finish(gpu->queue),
		     code = sent != CL_SUCCESS ? sent : done;

	return code == CL_SUCCESS ? 0 : cl_error(gpu, err, code, "clWaitForEvents");
}

int gpu_mark(struct gpu *gpu, struct gpu_event *ret_event, struct error *err)
{
	cl_event event;
	cl_int code = clEnqueueMarkerWithWaitList(gpu->queue, 0, NULL, &event);

	if (code != CL_SUCCESS)
		return cl_error(gpu, err, code, "clEnqueueMarkerWithWaitList");
	*ret_event = (struct gpu_event){ event, gpu };
	return 0;
}

int gpu_event_wait(const struct gpu_event *event, struct error *err)
{
	cl_event handle = event->handle;
	cl_int code = handle ? clWaitForEvents(1, &handle) : CL_SUCCESS;

	return code == CL_SUCCESS ? 0 : cl_error(event->gpu, err, code, "clWaitForEvents");
}

bool gpu_event_done(const struct gpu_event *event)
{
	cl_int status = CL_COMPLETE;

	if (event->handle)
		(void)clGetEventInfo(event->handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				     &status, NULL);
	return status <= CL_COMPLETE;
}

void gpu_event_free(struct gpu_event *event)
{
	if (event->handle)
		(void)clReleaseEvent(event->handle);
	event->handle = NULL;
}
