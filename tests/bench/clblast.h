/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls CLBlast for comparison, if it is installed, on devices that are no CPU. CLBlast has an OpenCL context
 * of its own, on the device that gpu_open() chooses: the first GPU, or without a GPU the first device.
 * Functions and constants are those of clblast_c.h, CLBlast 1.5.
 */
#pragma once

#include "tests/bench/openblas.h"

#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>

typedef int clblast_sgemm_function(int layout, int ta, int tb, size_t m, size_t n, size_t k, float alpha,
				   cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset,
				   size_t b_ld, float beta, cl_mem c, size_t c_offset, size_t c_ld,
				   cl_command_queue *queue, cl_event *event);

struct clblast {
	clblast_sgemm_function *sgemm; /* NULL: CLBlast is not installed */
	cl_context context;
	cl_command_queue queue;
	cl_mem memory[3]; /* the operands A, B, C */
};

static inline void clblast_must(cl_int code, const char *what)
{
	if (code == CL_SUCCESS)
		return;
	(void)fprintf(stderr, "gemm: CLBlast: %s: %d\n", what, code);
	exit(1);
}

static inline cl_device_id clblast_device(void)
{
	static const cl_device_type types[] = { CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL };
	cl_platform_id platforms[16];
	cl_uint count = 0;
	cl_device_id device;

	clblast_must(clGetPlatformIDs(16, platforms, &count), "platforms");
	for (size_t t = 0; t < 2; t++)
		for (cl_uint p = 0; p < count && p < 16; p++)
			if (clGetDeviceIDs(platforms[p], types[t], 1, &device, NULL) == CL_SUCCESS)
				return device;
	return NULL;
}

static inline void clblast_open(struct clblast *clblast)
{
	void *library = dlopen("libclblast.so.1", RTLD_NOW);
	cl_device_id device = library ? clblast_device() : NULL;
	cl_int code;

	if (!device)
		return;
	clblast->sgemm = (clblast_sgemm_function *)dlsym(library, "CLBlastSgemm");
	clblast->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
	clblast_must(code, "context");
	clblast->queue = clCreateCommandQueue(clblast->context, device, 0, &code);
	clblast_must(code, "queue");
}

static inline void clblast_close(struct clblast *clblast)
{
	if (!clblast->sgemm)
		return;
	(void)clReleaseCommandQueue(clblast->queue);
	(void)clReleaseContext(clblast->context);
}

/* Copies the operands of a product to the device; NULL instead of numbers: C. */
static inline void clblast_put(struct clblast *clblast, int place, const float *numbers, uint64_t count)
{
	const cl_mem_flags flags = CL_MEM_READ_WRITE | (numbers ? CL_MEM_COPY_HOST_PTR : 0u);
	cl_int code;

	clblast->memory[place] = clCreateBuffer(clblast->context, flags, count * sizeof(float),
						(void *)(uintptr_t)numbers, &code);
	clblast_must(code, "memory");
}

static inline void clblast_drop(struct clblast *clblast)
{
	for (size_t i = 0; i < 3; i++)
		(void)clReleaseMemObject(clblast->memory[i]);
}
