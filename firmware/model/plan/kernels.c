/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/kernels.h"

#include "model/plan/chain.h"
#include "model/plan/kernel_table.h"
#include "model/plan/tensor_cores.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The Makefile makes these from kernels/NAME.cl. */
#define DECLARE(name)                      \
	extern const char kernel_##name[]; \
	extern const size_t kernel_##name##_bytes;
SHARED_FILES(DECLARE)
KERNEL_FILES(DECLARE)

#define SOURCE(name)   { #name ".cl", kernel_##name, kernel_##name##_bytes },
#define ONE(name)      +1
#define SHARED_SOURCES (SHARED_FILES(ONE))
#define SOURCES        ((uint32_t)KERNEL_FILE_MAX)

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

	(void)snprintf(options, sizeof(options), PROGRAM_OPTIONS " -DUPDATE_GROUP=%u -DUPDATE_RUN=%u%s%s%s%s",
		       shape.group, shape.run, gpu_is_cpu(gpu) ? " -DCPU_DEVICE" : "",
		       cases ? " -DCHAINED" : "", program_storage(storage), tensor_cores_option(gpu, cores));
	return gpu_program_build(gpu, source, count, options, ret_program, err);
}
