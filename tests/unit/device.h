/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of kernels: a device and every kernel, compiled. Include it after cmocka.h. */
#pragma once

#include "tests/reference.h"

static struct gpu *gpu;
static struct gpu_program *program;

UNUSED_OK static void open_kernels_of(enum dtype storage)
{
	struct error err = { 0 };

	gpu = open_device();
	harness_must(kernels_build(gpu, storage, NULL, 0, &program, &err), &err);
}

UNUSED_OK static void open_kernels(void)
{
	open_kernels_of(DTYPE_F32);
}

/* Returns a buffer of the device with these data. */
UNUSED_OK static struct gpu_buffer *to_device(const void *data, uint64_t bytes)
{
	struct gpu_buffer *buffer = NULL;
	struct error err = { 0 };

	harness_must(gpu_buffer_create(gpu, bytes, &buffer, &err), &err);
	harness_must(gpu_write(gpu, buffer, 0, data, bytes, true, &err), &err);
	return buffer;
}

/* Returns whether the program with numbers of 16 bits of this type has the kernels of warp groups. A device
 * without tensor cores computes their instructions by others; a GPU with tensor cores of warps alone compiles
 * none of these kernels. */
UNUSED_OK static bool has_warp_groups(enum dtype storage)
{
	enum tensor_cores cores;
	struct error err = { 0 };

	harness_must(kernels_tensor_cores(gpu, storage, false, &cores, &err), &err);
	if (cores == TENSOR_CORES_WARPS)
		(void)printf("# the kernels of warp groups are skipped: %s has none\n", gpu_description(gpu));
	return cores != TENSOR_CORES_WARPS;
}

/* Setup of a group of tests that make their programs themselves. */
UNUSED_OK static int open_device_alone(void **state)
{
	(void)state;
	gpu = open_device();
	return 0;
}

/* Teardown of the group of tests. */
static int close_kernels(void **state)
{
	(void)state;
	gpu_program_free(program);
	close_device(gpu);
	return 0;
}
