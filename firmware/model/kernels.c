/* SPDX-License-Identifier: Apache-2.0 */
#include "model/kernels.h"

/* Made by the Makefile from kernels/NAME.cl. */
#define KERNEL_SOURCE(name)                \
	extern const char kernel_##name[]; \
	extern const size_t kernel_##name##_bytes

KERNEL_SOURCE(philox);
KERNEL_SOURCE(gemm);
KERNEL_SOURCE(gemm_tiled);
KERNEL_SOURCE(elements);
KERNEL_SOURCE(softmax);
KERNEL_SOURCE(metrics);
KERNEL_SOURCE(update);

struct update_shape update_shape(bool cpu)
{
	return cpu ? (struct update_shape){ 1, 256 } : (struct update_shape){ 64, 1 };
}

int kernels_build(struct gpu *gpu, struct gpu_program **ret_program, struct error *err)
{
	/* philox and gemm first: the others use their functions and names. */
	const struct gpu_source sources[] = {
		{ "philox.cl", kernel_philox, kernel_philox_bytes },
		{ "gemm.cl", kernel_gemm, kernel_gemm_bytes },
		{ "gemm_tiled.cl", kernel_gemm_tiled, kernel_gemm_tiled_bytes },
		{ "elements.cl", kernel_elements, kernel_elements_bytes },
		{ "softmax.cl", kernel_softmax, kernel_softmax_bytes },
		{ "metrics.cl", kernel_metrics, kernel_metrics_bytes },
		{ "update.cl", kernel_update, kernel_update_bytes },
	};
	const struct update_shape shape = update_shape(gpu_is_cpu(gpu));
	char options[128];

	/* No fast-math of any kind: a NaN must stay one. Denormals are zero: Adam's slots of a unit that gets
	 * no gradient decay into them within a thousand steps and would stay there, and make a step three
	 * times as long on a CPU. */
	(void)snprintf(options, sizeof(options), "-cl-denorms-are-zero -DUPDATE_GROUP=%u -DUPDATE_RUN=%u",
		       shape.group, shape.run);
	return gpu_program_build(gpu, sources, sizeof(sources) / sizeof(*sources), options, ret_program, err);
}
