/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/gpu.h"

#include "core/base/paths.h"
#include "drivers/cores/cores.h"
#include "drivers/gpu/internal.h"

#include <CL/cl_ext.h>
#include <string.h>

#define PLATFORMS_MAX 16u
#define DEVICES_MAX   16u

/* PoCL's directory must exist and be writable before the first OpenCL call: otherwise PoCL aborts. PoCL also
 * aborts where a file in it is incomplete. PoCL renames its files into place without an fsync: so a kill
 * cannot leave an incomplete file, but a power cut can. Therefore the directory is below /run, which is empty
 * after a power cut. */
static int prepare_cache(struct error *err)
{
	char directory[PATH_BYTES];
	const char *given = getenv("POCL_CACHE_DIR");

	if (!given) {
		int r = path_make(path_of(PATH_RUNTIME, "pocl", directory), err);

		if (r < 0)
			return r;
		if (setenv("POCL_CACHE_DIR", directory, 0) < 0)
			return error_set(err, -ENOMEM, "POCL_CACHE_DIR: out of memory");
		given = directory;
	}
	if (access(given, W_OK | X_OK) < 0)
		return error_set(err, -errno, "%s: the directory for compiled kernels is not writable: %s",
				 given, strerror(errno));
	return 0;
}

/* NVIDIA's driver compiles a program for the device each time it is loaded, unless it finds the result in
 * this directory, which it makes. Its own choice is below the home directory, and the trainer has none. */
static void keep_nvidia_kernels(void)
{
	char directory[PATH_BYTES];

	(void)setenv("CUDA_CACHE_PATH", path_of(PATH_KERNELS, "nvidia", directory), 0);
}

/* PoCL's threads sleep between two launches. The Linux kernel often wakes a thread on the core of the thread
 * that woke it. That core is still busy, so the woken thread starts only when the other has finished its
 * work: a matrix product of 150 us took as long on two threads as on one. With POCL_AFFINITY thread i stays
 * on core i. PoCL cannot do this for a subset of the cores, so POCL_AFFINITY is set only where the process
 * may use all cores. */
static void spread_threads(void)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return;
	for (long i = 0; i < cores; i++)
		if (!CPU_ISSET((size_t)i, &allowed))
			return;
	(void)setenv("POCL_AFFINITY", "1", 0);
}

/* Checks for OpenCL 1.2 or later. CL_DEVICE_VERSION is a text such as "OpenCL 1.2 ..." (OpenCL 1.2, 4.2). */
static bool is_new_enough(cl_device_id device)
{
	char version[128] = "";
	unsigned major = 0, minor = 0;

	(void)clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version) - 1, version, NULL);
	return sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 && (major > 1 || minor >= 2);
}

/* Codes of extensions that Khronos' headers do not have: cl_nv_device_attribute_query, and the type of a
 * topology in cl_amd_device_attribute_query. */
#define PCI_BUS_NV        0x4008
#define PCI_SLOT_NV       0x4009
#define PCI_DOMAIN_NV     0x400a
#define TOPOLOGY_PCIE_AMD 1

/* Reads the device's PCI address, which each maker has in an extension of its own. */
static void read_pci(cl_device_id device, char out[static GPU_PCI_BYTES])
{
	cl_device_pci_bus_info_khr info = { 0 };
	cl_device_topology_amd amd = { 0 };
	cl_uint bus, slot, domain = 0;

	if (clGetDeviceInfo(device, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof(info), &info, NULL) == CL_SUCCESS) {
		(void)snprintf(out, GPU_PCI_BYTES, "%04x:%02x:%02x.%x", info.pci_domain & 0xffff,
			       info.pci_bus & 0xff, info.pci_device & 0xff, info.pci_function & 0xf);
	} else if (clGetDeviceInfo(device, PCI_BUS_NV, sizeof(bus), &bus, NULL) == CL_SUCCESS &&
		   clGetDeviceInfo(device, PCI_SLOT_NV, sizeof(slot), &slot, NULL) == CL_SUCCESS) {
		/* The slot has device and function, as in the kernel's PCI_DEVFN(). */
		(void)clGetDeviceInfo(device, PCI_DOMAIN_NV, sizeof(domain), &domain, NULL);
		(void)snprintf(out, GPU_PCI_BYTES, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff,
			       slot >> 3 & 0x1f, slot & 7);
	} else if (clGetDeviceInfo(device, CL_DEVICE_TOPOLOGY_AMD, sizeof(amd), &amd, NULL) == CL_SUCCESS &&
		   amd.raw.type == TOPOLOGY_PCIE_AMD) {
		(void)snprintf(out, GPU_PCI_BYTES, "0000:%02x:%02x.%x", (unsigned)(unsigned char)amd.pcie.bus,
			       (unsigned)(unsigned char)amd.pcie.device, (unsigned)amd.pcie.function & 0xf);
	}
}

static void read_uuid(cl_device_id device, char out[static GPU_UUID_BYTES])
{
	cl_uchar uuid[CL_UUID_SIZE_KHR];

	if (clGetDeviceInfo(device, CL_DEVICE_UUID_KHR, sizeof(uuid), uuid, NULL) != CL_SUCCESS)
		return;
	for (size_t i = 0; i < sizeof(uuid); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", uuid[i]);
}

/* Adds the devices of one type and of all platforms. */
static unsigned list_type(const cl_platform_id *platform, cl_uint platforms, cl_device_type type,
			  unsigned count, struct gpu_listed *list)
{
	for (cl_uint i = 0; i < platforms; i++) {
		cl_device_id device[DEVICES_MAX];
		cl_uint devices = 0;

		if (clGetDeviceIDs(platform[i], type, DEVICES_MAX, device, &devices) != CL_SUCCESS)
			continue;
		for (cl_uint d = 0; d < devices && d < DEVICES_MAX && count < GPU_LISTED_MAX; d++) {
			struct gpu_listed *listed = &list[count];

			if (!is_new_enough(device[d]))
				continue;
			*listed = (struct gpu_listed){ .cpu = type == CL_DEVICE_TYPE_CPU,
						       .platform_handle = platform[i],
						       .handle = device[d] };
			(void)clGetPlatformInfo(platform[i], CL_PLATFORM_NAME, sizeof(listed->platform) - 1,
						listed->platform, NULL);
			(void)clGetDeviceInfo(device[d], CL_DEVICE_NAME, sizeof(listed->name) - 1,
					      listed->name, NULL);
			read_pci(device[d], listed->pci);
			read_uuid(device[d], listed->uuid);
			count++;
		}
	}
	return count;
}

static int find_device(struct gpu *gpu, const struct gpu_wish *wish, struct error *err)
{
	CLEANUP(free_ptr) struct gpu_listed *list = calloc(GPU_LISTED_MAX, sizeof(*list));
	cl_platform_id platform[PLATFORMS_MAX];
	cl_uint platforms = 0;
	cl_int code = clGetPlatformIDs(PLATFORMS_MAX, platform, &platforms);
	unsigned count, index;
	int r;

	if (!list)
		return error_set(err, -ENOMEM, "device: out of memory");
	if (code != CL_SUCCESS || !platforms)
		return error_set(err, -ENODEV, "no OpenCL platform is installed: %s (%d)",
				 cl_error_name(code), code);
	if (platforms > PLATFORMS_MAX)
		platforms = PLATFORMS_MAX;
	count = list_type(platform, platforms, CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR, 0, list);
	count = list_type(platform, platforms, CL_DEVICE_TYPE_CPU, count, list);
	if ((r = gpu_choose(list, count, wish, &index, err)) < 0)
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
	r = prepare_cache(err);
	if (r < 0)
		return r;
	keep_nvidia_kernels();
	spread_threads();
	r = find_device(gpu, wish, err);
	if (r < 0)
		return r;
	describe(gpu);
	r = open_queues(gpu, err);
	if (r < 0)
		return r;
	*ret_gpu = TAKE(gpu);
	return 0;
}

void gpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	if (gpu->queue) {
		(void)clFinish(gpu->queue);
		(void)clReleaseCommandQueue(gpu->queue);
	}
	if (gpu->transfers)
		(void)clReleaseCommandQueue(gpu->transfers);
	if (gpu->sent)
		(void)clReleaseEvent(gpu->sent);
	if (gpu->sending) {
		(void)clFinish(gpu->sending);
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
	cl_int code = gpu->sending ? clFinish(gpu->sending) : CL_SUCCESS;

	if (code == CL_SUCCESS)
		code = clFinish(gpu->queue);

	return code == CL_SUCCESS ? 0 : cl_error(gpu, err, code, "clFinish");
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
