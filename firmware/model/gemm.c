/* SPDX-License-Identifier: Apache-2.0 */
#include "model/gemm.h"

#include <string.h>

struct tile {
	const char *kernel;
	uint64_t rows, columns;
};

/* Wide tiles use each value of A more often; narrow ones waste fewer lanes on a narrow C. */
static const struct tile cpu_tiles[] = {
	{ "gemm_6x64", 6, 64 },
	{ "gemm_8x32", 8, 32 },
	{ "gemm_8x16", 8, 16 },
};
static const struct tile gpu_tile = { "gemm_16x16", 16, 16 };

static const struct tile *choose(bool cpu, uint64_t n)
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

void gemm_emit(struct plan *plan, const struct gemm *gemm)
{
	const struct tile *tile = choose(plan->cpu, gemm->n);
	const uint64_t seed = plan->graph->config->run.seed, per_row = gemm->per_row ? gemm->per_row : 1;
	struct launch launch = {
		.kernel = tile->kernel,
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
	plan_emit(plan, &launch);
}

bool gemm_is(const struct launch *launch)
{
	return !strncmp(launch->kernel, "gemm_", 5);
}
