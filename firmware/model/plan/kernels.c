/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/kernels.h"

#include "model/plan/chain.h"

#include <string.h>

/* Made by the Makefile from kernels/NAME.cl, and built in this order. What others share, without a kernel: */
/* clang-format off */
#define SHARED(each) \
	each(storage) \
	each(philox) \
	each(groups) \
	each(tile) \
	each(labels) \
	each(step) \
	each(window)

/* None of these needs another one: */
#define KERNELS(each) \
	each(gemm) \
	each(gemm_packed) \
	each(gemm_tiled) \
	each(elements) \
	each(activation) \
	each(softmax) \
	each(norm) \
	each(embedding) \
	each(losses) \
	each(metrics) \
	each(update) \
	each(gradients) \
	each(loss_scale) \
	each(conv) \
	each(conv_tiled) \
	each(pool) \
	each(chain)
/* clang-format on */

#define DECLARE(name)                      \
	extern const char kernel_##name[]; \
	extern const size_t kernel_##name##_bytes;
SHARED(DECLARE)
KERNELS(DECLARE)

#define SOURCE(name)   { #name ".cl", kernel_##name, kernel_##name##_bytes },
#define ONE(name)      +1
#define SHARED_SOURCES (SHARED(ONE))
#define SOURCES        (SHARED_SOURCES KERNELS(ONE))

struct update_shape update_shape(bool cpu)
{
	return cpu ? (struct update_shape){ 1, 256 } : (struct update_shape){ 64, 1 };
}

/* A kernel's name stands before its parameters, or is the first argument of the macro that makes it. */
static const char *definition(const char *text, const char *kernel)
{
	const size_t length = strlen(kernel);

	while ((text = strstr(text, kernel))) {
		if (strchr(" \n(", text[-1]) && (text[length] == '(' || text[length] == ','))
			return text;
		text += length;
	}
	return NULL;
}

bool kernel_is_single(const char *kernel)
{
	const struct gpu_source source[] = { KERNELS(SOURCE) };
	const size_t before = sizeof("SINGLE");
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(source) / sizeof(*source) && !found; i++)
		found = definition(source[i].text, kernel);
	return found && !strncmp(found - before, "SINGLE", before - 1);
}

static bool is_launched(const struct gpu_source *source, const struct plan *const *plan, uint32_t plans)
{
	for (uint32_t p = 0; p < plans; p++)
		for (uint32_t i = 0; i < plan[p]->launches; i++)
			if (definition(source->text, plan[p]->launch[i].kernel))
				return true;
	return false;
}

/* What is shared, and what defines a kernel of these plans; with no plan, everything. How many they are. */
static uint32_t choose(const struct plan *const *plan, uint32_t plans, struct gpu_source out[static SOURCES])
{
	const struct gpu_source source[SOURCES] = { SHARED(SOURCE) KERNELS(SOURCE) };
	uint32_t count = 0;

	for (uint32_t i = 0; i < SOURCES; i++)
		if (i < SHARED_SOURCES || plans == 0 || is_launched(&source[i], plan, plans))
			out[count++] = source[i];
	return count;
}

int kernels_build(struct gpu *gpu, enum dtype storage, const struct plan *const *plan, uint32_t plans,
		  struct gpu_program **ret_program, struct error *err)
{
	const struct update_shape shape = update_shape(gpu_is_cpu(gpu));
	static const char *const stored[] = {
		[DTYPE_F16] = " -DSTORED_FLOAT16", [DTYPE_BF16] = " -DSTORED_BFLOAT16"
	};
	CLEANUP(free_ptr) char *cases = NULL;
	struct gpu_source source[1 + SOURCES];
	uint32_t count = 0;
	char options[128];
	int rc = chain_cases(plan, plans, &cases, err);

	if (rc < 0)
		return rc;
	if (cases)
		source[count++] = (struct gpu_source){ "chain_cases.cl", cases, strlen(cases) };
	count += choose(plan, plans, source + count);

	/* No fast-math of any kind: a NaN must stay one. Denormals are zero: Adam's slots of a unit that gets
	 * no gradient decay into them within a thousand steps and would stay there, and make a step three
	 * times as long on a CPU. */
	(void)snprintf(options, sizeof(options),
		       "-cl-denorms-are-zero -DUPDATE_GROUP=%u -DUPDATE_RUN=%u%s%s%s", shape.group, shape.run,
		       gpu_is_cpu(gpu) ? " -DCPU_DEVICE" : "", cases ? " -DCHAINED" : "",
		       storage == DTYPE_F32 ? "" : stored[storage]);
	return gpu_program_build(gpu, source, count, options, ret_program, err);
}
