/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kernels.h"

/* Made by the Makefile from kernels/NAME.cl, and built in this order: storage, philox and gemm first, as
 * the others use their functions and names. */
/* One a line: */
/* clang-format off */
#define SOURCES(each) \
	each(storage) \
	each(philox) \
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
	each(window) \
	each(conv) \
	each(conv_tiled) \
	each(pool)
/* clang-format on */

#define DECLARE(name)                      \
	extern const char kernel_##name[]; \
	extern const size_t kernel_##name##_bytes;
SOURCES(DECLARE)

struct update_shape update_shape(bool cpu)
{
	return cpu ? (struct update_shape){ 1, 256 } : (struct update_shape){ 64, 1 };
}

int kernels_build(struct gpu *gpu, enum dtype storage, struct gpu_program **ret_program, struct error *err)
{
#define SOURCE(name) { #name ".cl", kernel_##name, kernel_##name##_bytes },
	const struct gpu_source sources[] = { SOURCES(SOURCE) };
	const struct update_shape shape = update_shape(gpu_is_cpu(gpu));
	static const char *const stored[] = {
		[DTYPE_F16] = " -DSTORED_FLOAT16", [DTYPE_BF16] = " -DSTORED_BFLOAT16"
	};
	char options[128];

	/* No fast-math of any kind: a NaN must stay one. Denormals are zero: Adam's slots of a unit that gets
	 * no gradient decay into them within a thousand steps and would stay there, and make a step three
	 * times as long on a CPU. */
	(void)snprintf(options, sizeof(options), "-cl-denorms-are-zero -DUPDATE_GROUP=%u -DUPDATE_RUN=%u%s%s",
		       shape.group, shape.run, gpu_is_cpu(gpu) ? " -DCPU_DEVICE" : "",
		       storage == DTYPE_F32 ? "" : stored[storage]);
	return gpu_program_build(gpu, sources, sizeof(sources) / sizeof(*sources), options, ret_program, err);
}
