/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD: presents every OpenCL device as KILN_DEVICE_TYPE, "gpu" or "cpu". So a CPU runs the code for
 * GPUs, and a device that calls itself a GPU runs the code for CPUs. With KILN_DEVICE_OWN_MEMORY it seems to
 * have memory of its own. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* POSIX lets dlsym() return functions; ISO C has no conversion for that. */
#define NEXT(name, pointer) (*(void **)&(pointer) = dlsym(RTLD_NEXT, #name))

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint max, cl_device_id *ret_devices,
		      cl_uint *ret_count)
{
	static cl_int (*next)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
	const char *as = getenv("KILN_DEVICE_TYPE");
	const cl_device_type shown = as && !strcmp(as, "cpu") ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;

	if (!next)
		NEXT(clGetDeviceIDs, next);
	if (!(type & shown))
		return CL_DEVICE_NOT_FOUND;
	return next(platform, CL_DEVICE_TYPE_ALL, max, ret_devices, ret_count);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t bytes, void *value, size_t *ret_bytes)
{
	static cl_int (*next)(cl_device_id, cl_device_info, size_t, void *, size_t *);

	if (!next)
		NEXT(clGetDeviceInfo, next);
	if (what != CL_DEVICE_HOST_UNIFIED_MEMORY || !getenv("KILN_DEVICE_OWN_MEMORY") || !value)
		return next(device, what, bytes, value, ret_bytes);
	*(cl_bool *)value = CL_FALSE;
	return CL_SUCCESS;
}
