/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/kernels.h"

#include "model/plan/chain.h"
#include "model/plan/kernel_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The Makefile makes these from kernels/NAME.cl. */
#define DECLARE(name)                      \
	extern const char kernel_##name[]; \
	extern const size_t kernel_##name##_bytes;
SHARED_FILES(DECLARE)
KERNEL_FILES(DECLARE)
DECLARE(tensor_cores)

#define SOURCE(name)   { #name ".cl", kernel_##name, kernel_##name##_bytes },
#define ONE(name)      +1
#define SHARED_SOURCES (SHARED_FILES(ONE))
#define SOURCES        ((uint32_t)KERNEL_FILE_MAX)

/* OpenCL C 1.2, in which a pointer without an address space is private: PoCL 6 would take the newest version
 * that it knows, in which such a pointer is generic. No fast-math: a NaN must stay a NaN. Denormals count as
 * zero: if a unit gets no gradient, Adam's slots for it become denormals within a thousand steps, remain
 * denormals, and make a step three times as long on a CPU. No warnings (-w): on a CPU without AVX-512 Clang
 * warns about each argument that is a vector of 16 numbers, and PoCL prints the number of warnings to stderr.
 */
#define OPTIONS "-w -cl-std=CL1.2 -cl-denorms-are-zero"

struct update_shape update_shape(bool cpu)
{
	return cpu ? (struct update_shape){ 1, 256, 256 } : (struct update_shape){ 256, 1, 64 };
}

/* Returns whether a plan has a launch of this kernel. */
static bool is_used(const struct kernel *kernel, const struct plan *const *plan, uint32_t plans)
{
	for (uint32_t p = 0; p < plans; p++)
		for (uint32_t i = 0; i < plan[p]->launches; i++)
			if (!strcmp(plan[p]->launch[i].kernel, kernel->name))
				return true;
	return false;
}

static bool is_launched(enum kernel_file file, const struct plan *const *plan, uint32_t plans)
{
	for (uint32_t k = 0; k < kernel_table_count; k++)
		if (kernel_table[k].file == file && is_used(&kernel_table[k], plan, plans))
			return true;
	return false;
}

/* Allocates the text that says which kernels the plans use (tools/kernel-text). A program has no others: some
 * drivers compile each kernel for a tenth of a second, one of tiles for a second. */
static int used_kernels(const struct plan *const *plan, uint32_t plans, char **ret_text, struct error *err)
{
	CLEANUP(free_ptr) char *said = NULL;
	size_t bytes = 0;
	FILE *text = open_memstream(&said, &bytes);

	if (!text)
		return error_set(err, -ENOMEM, "kernels: out of memory");
	(void)fprintf(text, "#define ONLY_USED\n");
	for (uint32_t k = 0; k < kernel_table_count; k++)
		if (kernel_table[k].properties & KERNEL_WITH_FILE || is_used(&kernel_table[k], plan, plans))
			(void)fprintf(text, "#define USE_%s 1\n", kernel_table[k].name);
	if (fclose(text) != 0)
		return error_set(err, -ENOMEM, "kernels: out of memory");
	*ret_text = TAKE(said);
	return 0;
}

/* Writes the list of the files of a program to `out` and returns their number: the shared files, and the
 * files that define a kernel of these plans. Without a plan: all files. */
static uint32_t choose(const struct plan *const *plan, uint32_t plans, struct gpu_source out[static SOURCES])
{
	const struct gpu_source source[SOURCES] = { SHARED_FILES(SOURCE) KERNEL_FILES(SOURCE) };
	uint32_t count = 0;

	for (enum kernel_file i = 0; i < KERNEL_FILE_MAX; i++)
		if (i < SHARED_SOURCES || plans == 0 || is_launched(i, plan, plans))
			out[count++] = source[i];
	return count;
}

/* The first compute capability that has the instructions of mma.clh, and the one that has warp groups. GPUs
 * of 7.0 and 7.5 have tensor cores for no other float than float16, fewer terms at once, and no asynchronous
 * copies. */
#define CAPABILITY_WARPS       80u
#define CAPABILITY_WARP_GROUPS 90u

#define WITH_WARPS       " -DTENSOR_CORES"
#define WITH_WARP_GROUPS " -DTENSOR_CORES " GPU_SM_90A

/* The options of a program whose numbers have this type. */
static const char *const storage_options[] = {
	[DTYPE_F32] = "", [DTYPE_F16] = " -DSTORED_FLOAT16", [DTYPE_BF16] = " -DSTORED_BFLOAT16"
};

/* Finds whether the driver compiles the instructions. A failure for another reason, such as a lack of memory,
 * is an error: the same device must find the same cores each time, because they determine the sums. */
static int compiles(struct gpu *gpu, enum dtype storage, const char *with, bool *ret_does, struct error *err)
{
	const struct gpu_source source = { "tensor_cores.cl", kernel_tensor_cores,
					   kernel_tensor_cores_bytes };
	CLEANUP(gpu_program_freep) struct gpu_program *program = NULL;
	char options[160];
	int r;

	(void)snprintf(options, sizeof(options), OPTIONS "%s%s", storage_options[storage], with);
	r = gpu_program_build(gpu, &source, 1, options, &program, err);
	*ret_does = r == 0;
	return r == -ENOEXEC ? 0 : r;
}

int kernels_tensor_cores(struct gpu *gpu, enum dtype storage, bool tf32, enum tensor_cores *ret_cores,
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

/* Returns the tensor cores of the device that a kernel of the plan uses. */
static enum tensor_cores cores_of(const struct plan *plan, const char *kernel)
{
	if (!strncmp(kernel, "wgmma_", strlen("wgmma_")))
		return plan->tensor_cores;
	if (!strncmp(kernel, "mma_", strlen("mma_")) && plan->tensor_cores != TENSOR_CORES_NONE)
		return TENSOR_CORES_WARPS;
	return TENSOR_CORES_NONE;
}

/* Returns the tensor cores that the kernels of the plans use. */
static enum tensor_cores used_cores(const struct plan *const *plan, uint32_t plans)
{
	enum tensor_cores cores = TENSOR_CORES_NONE;

	for (uint32_t p = 0; p < plans; p++)
		for (uint32_t i = 0; i < plan[p]->launches; i++)
			if (cores_of(plan[p], plan[p]->launch[i].kernel) > cores)
				cores = cores_of(plan[p], plan[p]->launch[i].kernel);
	return cores;
}

int kernels_build(struct gpu *gpu, enum dtype storage, const struct plan *const *plan, uint32_t plans,
		  struct gpu_program **ret_program, struct error *err)
{
	const struct update_shape shape = update_shape(gpu_is_cpu(gpu));
	static const char *const with[] = { [TENSOR_CORES_NONE] = "",
					    [TENSOR_CORES_WARPS] = WITH_WARPS,
					    [TENSOR_CORES_WARP_GROUPS] = WITH_WARP_GROUPS };
	CLEANUP(free_ptr) char *cases = NULL;
	CLEANUP(free_ptr) char *used = NULL;
	enum tensor_cores cores = used_cores(plan, plans);
	struct gpu_source source[2 + SOURCES];
	uint32_t count = 0;
	char options[160];
	int r;

	if ((r = chain_cases(plan, plans, &cases, err)) < 0 ||
	    (plans > 0 && (r = used_kernels(plan, plans, &used, err)) < 0) ||
	    (plans == 0 && (r = kernels_tensor_cores(gpu, storage, true, &cores, err)) < 0))
		return r;
	if (used)
		source[count++] = (struct gpu_source){ "used.cl", used, strlen(used) };
	if (cases)
		source[count++] = (struct gpu_source){ "chain_cases.cl", cases, strlen(cases) };
	count += choose(plan, plans, source + count);

	(void)snprintf(options, sizeof(options), OPTIONS " -DUPDATE_GROUP=%u -DUPDATE_RUN=%u%s%s%s%s",
		       shape.group, shape.run, gpu_is_cpu(gpu) ? " -DCPU_DEVICE" : "",
		       cases ? " -DCHAINED" : "", storage_options[storage], with[cores]);
	return gpu_program_build(gpu, source, count, options, ret_program, err);
}
