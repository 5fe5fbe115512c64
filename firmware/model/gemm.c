/* SPDX-License-Identifier: Apache-2.0 */
#include "model/gemm.h"

#include <string.h>

/* Wide tiles use each value of A more often; narrow ones waste fewer lanes on a narrow C. */
static const struct gemm_tile cpu_tiles[] = {
	{ "gemm_6x64", "conv_6x64", "conv_kernel_6x64", 6, 64 },
	{ "gemm_8x32", "conv_8x32", "conv_kernel_8x32", 8, 32 },
	{ "gemm_8x16", "conv_8x16", "conv_kernel_8x16", 8, 16 },
};
static const struct gemm_tile gpu_tile = { "gemm_16x16", "conv_16x16", "conv_kernel_16x16", 16, 16 };

const struct gemm_tile *gemm_tile(bool cpu, uint64_t n)
{
	if (!cpu)
		return &gpu_tile;
	if (n > 32)
		return &cpu_tiles[0];
	return n > 16 ? &cpu_tiles[1] : &cpu_tiles[2];
}

static struct argument size_of(uint64_t constant, uint64_t per_row)
{
	if (constant == GEMM_ROWS)
		return (struct argument)ROWS_TIMES(per_row);
	return (struct argument)INT(constant);
}

struct launch gemm_launch(const struct plan *plan, const struct gemm *gemm, const char *kernel)
{
	const struct gemm_tile *tile = gemm_tile(plan->cpu, gemm->n);
	const uint64_t seed = plan->graph->config->run.seed, per_row = gemm->per_row ? gemm->per_row : 1;
	struct launch launch = {
		.kernel = kernel,
		.groups = { { .constant = gemm->m, .per_row = gemm->m == GEMM_ROWS ? per_row : 0, .tile = tile->rows },
			    { .constant = gemm->n, .tile = tile->columns } },
		.arguments = GEMM_ARGUMENTS,
		.argument = {
			[GEMM_A] = IN(gemm->a),
			[GEMM_B] = IN(gemm->b),
			[GEMM_C] = OUT(gemm->c),
			[GEMM_M] = size_of(gemm->m, per_row),
			[GEMM_N] = INT(gemm->n),
			[GEMM_K] = size_of(gemm->k, per_row),
			[GEMM_STRIDE_ROW] = INT(gemm->a_transposed ? 1 : gemm->k),
			[GEMM_STRIDE_K] = INT(gemm->a_transposed ? gemm->m : 1),
			[GEMM_EPILOGUE] = UINT(gemm->add ? EPILOGUE_ADD : 0u),
			[GEMM_SCALE] = FLOAT(1),
			[GEMM_THRESHOLD] = UINT(0u),
			[GEMM_LAYER] = UINT(0u),
			[GEMM_STEP] = AT(STEP),
			[GEMM_FIRST_ROW] = AT(FIRST_ROW),
			[GEMM_KEY_LOW] = UINT((uint32_t)seed),
			[GEMM_KEY_HIGH] = UINT((uint32_t)(seed >> 32)),
		},
	};

	if (gemm->add)
		launch.argument[GEMM_C].kind = ARGUMENT_INOUT;
	return launch;
}

void gemm_emit(struct plan *plan, const struct gemm *gemm)
{
	const struct launch launch = gemm_launch(plan, gemm, gemm_tile(plan->cpu, gemm->n)->gemm);

	plan_emit(plan, &launch);
}

bool gemm_is(const struct launch *launch)
{
	for (size_t i = 0; i < sizeof(cpu_tiles) / sizeof(*cpu_tiles); i++)
		if (!strcmp(launch->kernel, cpu_tiles[i].gemm) || !strcmp(launch->kernel, cpu_tiles[i].conv))
			return true;
	return !strcmp(launch->kernel, gpu_tile.gemm) || !strcmp(launch->kernel, gpu_tile.conv);
}
