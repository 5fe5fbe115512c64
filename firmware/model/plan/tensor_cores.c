/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/tensor_cores.h"

#include "core/base/log.h"
#include "model/plan/kernels.h"

#include <errno.h>
#include <stdio.h>

/* The Makefile makes it from kernels/tensor_cores.cl. */
extern const char kernel_tensor_cores[];
extern const size_t kernel_tensor_cores_bytes;

/* The first compute capability that has the instructions of mma.clh, and the one that has warp groups. GPUs
 * of 7.0 and 7.5 have tensor cores for no other float than float16, fewer terms at once, and no asynchronous
 * copies. */
#define CAPABILITY_WARPS       80u
#define CAPABILITY_WARP_GROUPS 90u

#define WITH_WARPS       " -DTENSOR_CORES"
#define WITH_WAVES       " -DTENSOR_CORES -DWAVES"
#define WITH_WARP_GROUPS " -DTENSOR_CORES " GPU_SM_90A

const char *program_storage(enum dtype storage)
{
	static const char *const options[] = {
		[DTYPE_F32] = "", [DTYPE_F16] = " -DSTORED_FLOAT16", [DTYPE_BF16] = " -DSTORED_BFLOAT16"
	};

	return options[storage];
}

const char *tensor_cores_option(const struct gpu *gpu, enum tensor_cores cores)
{
	if (cores == TENSOR_CORES_WARPS)
		return gpu_is_amd(gpu) ? WITH_WAVES : WITH_WARPS;
	return cores == TENSOR_CORES_WARP_GROUPS ? WITH_WARP_GROUPS : "";
}

/* Finds whether the driver compiles the instructions; where it does not, *ret_program stays NULL. A failure
 * for another reason, such as a lack of memory, is an error: the same device must find the same cores each
 * time, because they determine the sums. */
static int compile(struct gpu *gpu, enum dtype storage, const char *option, struct gpu_program **ret_program,
		   struct error *err)
{
	const struct gpu_source source = { "tensor_cores.cl", kernel_tensor_cores,
					   kernel_tensor_cores_bytes };
	char options[160];
	int r;

	(void)snprintf(options, sizeof(options), PROGRAM_OPTIONS "%s%s", program_storage(storage), option);
	r = gpu_program_build(gpu, &source, 1, options, ret_program, err);
	return r == -ENOEXEC ? 0 : r;
}

static int compiles(struct gpu *gpu, enum dtype storage, const char *option, bool *ret_does,
		    struct error *err)
{
	CLEANUP(gpu_program_freep) struct gpu_program *program = NULL;
	const int r = compile(gpu, storage, option, &program, err);

	*ret_does = program != NULL;
	return r;
}

/* ---- The product of two blocks ---- */

#define BLOCK 16

/* A prime above BLOCK: so no two rows, columns or terms are equal. */
#define NUMBERS 17

/* Small integers, -8 .. 8, whose sums are exact: number k of row i of the first block, or of column i of the
 * second. */
static int number(int block, int i, int k)
{
	return (i * (3 + 2 * block) + k * (5 - block) + i * k) % NUMBERS - NUMBERS / 2;
}

static uint16_t bits_of(enum dtype storage, int x)
{
	static const uint16_t f16[] = { 0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800 },
			      bf16[] = { 0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0x4100 };
	const int size = x < 0 ? -x : x;

	return (uint16_t)((storage == DTYPE_F16 ? f16[size] : bf16[size]) | (x < 0 ? 0x8000 : 0));
}

static bool is_product(const float *sums)
{
	for (int i = 0; i < BLOCK; i++)
		for (int j = 0; j < BLOCK; j++) {
			int wanted = 0;

			for (int k = 0; k < BLOCK; k++)
				wanted += number(0, i, k) * number(1, j, k);
			if (sums[i * BLOCK + j] != (float)wanted)
				return false;
		}
	return true;
}

static int multiply(struct gpu *gpu, struct gpu_program *program, enum dtype storage, float *sums,
		    struct error *err)
{
	static const uint64_t one[2] = { 1, 1 };
	const uint64_t sums_bytes = sizeof(float) * BLOCK * BLOCK;
	CLEANUP(gpu_buffer_freep) struct gpu_buffer *from = NULL;
	CLEANUP(gpu_buffer_freep) struct gpu_buffer *to = NULL;
	uint16_t numbers[2][BLOCK][BLOCK];
	struct gpu_kernel *kernel;
	int r;

	for (int b = 0; b < 2; b++)
		for (int i = 0; i < BLOCK; i++)
			for (int k = 0; k < BLOCK; k++)
				numbers[b][i][k] = bits_of(storage, number(b, i, k));
	if ((r = gpu_buffer_create(gpu, sizeof(numbers), &from, err)) < 0 ||
	    (r = gpu_buffer_create(gpu, sums_bytes, &to, err)) < 0 ||
	    (r = gpu_write(gpu, from, 0, numbers, sizeof(numbers), true, err)) < 0 ||
	    (r = gpu_kernel_create(program, "wave_block", &kernel, err)) < 0)
		return r;
	if ((r = gpu_kernel_set_buffer(kernel, 0, from, err)) == 0 &&
	    (r = gpu_kernel_set_buffer(kernel, 1, to, err)) == 0 &&
	    (r = gpu_launch(gpu, kernel, one, err)) == 0)
		r = gpu_read(gpu, to, 0, sums, sums_bytes, NULL, err);
	gpu_kernel_free(kernel);
	return r;
}

int tensor_cores_try(struct gpu *gpu, enum dtype storage, const char *option, bool *ret_right,
		     struct error *err)
{
	CLEANUP(gpu_program_freep) struct gpu_program *program = NULL;
	float sums[BLOCK * BLOCK];
	int r;

	*ret_right = false;
	if ((r = compile(gpu, storage, option, &program, err)) < 0 || !program)
		return r;
	if ((r = multiply(gpu, program, storage, sums, err)) < 0)
		return r;
	*ret_right = is_product(sums);
	if (!*ret_right)
		log_warning("%s: its matrix instructions give wrong sums of small integers, going on without "
			    "them",
			    gpu_description(gpu));
	return 0;
}

/* ---- What a device has ---- */

static int find_nvidia(struct gpu *gpu, enum dtype storage, bool tf32, enum tensor_cores *ret_cores,
		       struct error *err)
{
	const uint32_t capability = gpu_nvidia_capability(gpu);
	const bool is_short = storage != DTYPE_F32;
	bool groups = false, warps = false;
	int r;

	if (is_short && capability == CAPABILITY_WARP_GROUPS &&
	    (r = compiles(gpu, storage, WITH_WARP_GROUPS, &groups, err)) < 0)
		return r;
	if ((is_short || tf32) && capability >= CAPABILITY_WARPS && !groups &&
	    (r = compiles(gpu, storage, WITH_WARPS, &warps, err)) < 0)
		return r;
	*ret_cores = groups ? TENSOR_CORES_WARP_GROUPS : warps ? TENSOR_CORES_WARPS : TENSOR_CORES_NONE;
	return 0;
}

int kernels_tensor_cores(struct gpu *gpu, enum dtype storage, bool tf32, enum tensor_cores *ret_cores,
			 struct error *err)
{
	bool right = false;
	int r;

	if (!gpu_is_amd(gpu))
		return find_nvidia(gpu, storage, tf32, ret_cores, err);
	if (storage != DTYPE_F32 && (r = tensor_cores_try(gpu, storage, WITH_WAVES, &right, err)) < 0)
		return r;
	*ret_cores = right ? TENSOR_CORES_WARPS : TENSOR_CORES_NONE;
	return 0;
}
