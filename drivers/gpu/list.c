/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that OpenCL lists, and the environment of its drivers. */
#include "core/base/paths.h"
#include "drivers/gpu/gpu.h"
#include "drivers/gpu/internal.h"

#include <CL/cl_ext.h>
#include <sched.h>
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

/* Returns false for OpenCL 1.0 and 1.1. CL_DEVICE_VERSION is a text such as "OpenCL 1.2 ..." (OpenCL 1.2,
 * 4.2). */
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

static struct gpu_listed look_at(cl_platform_id platform, cl_device_id device, bool cpu)
{
	struct gpu_listed listed = {
		.cpu = cpu, .too_old = !is_new_enough(device), .platform_handle = platform, .handle = device
	};
	cl_ulong bytes = 0;

	(void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(listed.platform) - 1, listed.platform,
				NULL);
	(void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(listed.name) - 1, listed.name, NULL);
	(void)clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(listed.driver) - 1, listed.driver, NULL);
	(void)clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
	listed.memory_bytes = bytes;
	read_pci(device, listed.pci);
	read_uuid(device, listed.uuid);
	return listed;
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
		for (cl_uint d = 0; d < devices && d < DEVICES_MAX && count < GPU_LISTED_MAX; d++)
			list[count++] = look_at(platform[i], device[d], type == CL_DEVICE_TYPE_CPU);
	}
	return count;
}

int gpu_list(struct gpu_listed **ret_list, unsigned *ret_count, struct error *err)
{
	CLEANUP(free_ptr) struct gpu_listed *list = calloc(GPU_LISTED_MAX, sizeof(*list));
	cl_platform_id platform[PLATFORMS_MAX];
	cl_uint platforms = 0;
	cl_int code;
	int r = list ? prepare_cache(err) : error_set(err, -ENOMEM, "device: out of memory");

	if (r < 0)
		return r;
	keep_nvidia_kernels();
	spread_threads();
	code = clGetPlatformIDs(PLATFORMS_MAX, platform, &platforms);
	if (code != CL_SUCCESS || !platforms)
		return error_set(err, -ENODEV, "no OpenCL platform is installed: %s (%d)",
				 cl_error_name(code), code);
	if (platforms > PLATFORMS_MAX)
		platforms = PLATFORMS_MAX;
	*ret_count = list_type(platform, platforms, CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR, 0, list);
	*ret_count = list_type(platform, platforms, CL_DEVICE_TYPE_CPU, *ret_count, list);
	*ret_list = TAKE(list);
	return 0;
}
