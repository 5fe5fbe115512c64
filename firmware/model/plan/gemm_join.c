/* SPDX-License-Identifier: Apache-2.0 */
/* Two products of dense layers as one launch. */
#include "model/plan/gemm.h"

#include "model/plan/round.h"

#include <string.h>

/* ---- Both gradients of a dense layer ---- */

/* Columns of a tile of every kernel that computes dw, and of gemm_16x16. */
#define NARROW_COLUMNS 16

/* The kernels that compute dw, dx and both. */
static const struct {
	const char *dw, *dx, *both;
} pairs[] = {
	{ "gemm_8x16", "gemm_packed_6x64", "dense_backward_6x64" },
	{ "gemm_8x16", "gemm_packed_8x32", "dense_backward_8x32" },
	{ "gemm_8x16", "gemm_packed_8x16", "dense_backward_8x16" },
	{ "gemm_16x16", "gemm_16x16", "dense_backward_16x16" },
};

/* Returns the kernel that computes both, or NULL. */
static const char *pair_kernel(const struct launch *dw, const struct launch *dx)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (!strcmp(dw->kernel, pairs[i].dw) && !strcmp(dx->kernel, pairs[i].dx))
			return pairs[i].both;
	return NULL;
}

bool gemm_is_pair(const struct launch *dw, const struct launch *dx)
{
	return dw->kernel && dx->kernel && pair_kernel(dw, dx) && dw->argument[GEMM_N].i <= NARROW_COLUMNS &&
	       dw->argument[GEMM_M].kind == ARGUMENT_INT &&
	       dw->argument[GEMM_STRIDE_ROW].kind == ARGUMENT_INT && dx->argument[GEMM_B_TRANSPOSED].i &&
	       dw->argument[GEMM_B].tensor == dx->argument[GEMM_A].tensor &&
	       dw->argument[GEMM_A].tensor != dx->argument[GEMM_C].tensor;
}

struct launch gemm_pair(const struct launch *dw, const struct launch *dx)
{
	const uint64_t columns = divide_up(dx->groups[1].fixed, dx->groups[1].tile);
	const uint64_t tiles = divide_up(dw->groups[0].fixed, dw->groups[0].tile) + dw->groups[0].extra;
	const uint64_t gradient_groups = divide_up(tiles, columns);
	const struct argument *w = dw->argument, *x = dx->argument;
	struct launch pair = { .kernel = pair_kernel(dw, dx),
			       .groups = { dx->groups[0], dx->groups[1] },
			       ARGUMENTS(w[GEMM_A], w[GEMM_B], x[GEMM_B], w[GEMM_C], w[GEMM_BIAS_GRADIENT],
					 x[GEMM_C], x[GEMM_MASK], w[GEMM_K], w[GEMM_M], w[GEMM_N],
					 INT(gradient_groups), x[GEMM_GROUP_ROWS], w[GEMM_EPILOGUE],
					 x[GEMM_EPILOGUE], x[GEMM_SCALE]) };

	pair.groups[0].extra = gradient_groups;
	return pair;
}

/* ---- Two dense layers ---- */

/* Returns whether the launch is a product of rows of the batch and weights, in tiles of 16 x 16 of which one
 * has all columns, with no other steps of the epilogue than `flags`. */
static bool is_narrow(const struct launch *launch, uint32_t flags)
{
	const struct argument *argument = launch->argument;

	return launch->kernel && !strcmp(launch->kernel, "gemm_16x16") &&
	       argument[GEMM_M].kind == ARGUMENT_ROWS && argument[GEMM_N].i <= NARROW_COLUMNS &&
	       argument[GEMM_K].kind == ARGUMENT_INT && !argument[GEMM_B_TRANSPOSED].i &&
	       !launch->groups[0].extra && !(argument[GEMM_EPILOGUE].u & ~flags);
}

bool gemm_is_sequence(const struct launch *first, const struct launch *second)
{
	return is_narrow(first, EPILOGUE_BIAS | EPILOGUE_RELU | EPILOGUE_DROPOUT) &&
	       is_narrow(second, EPILOGUE_BIAS | EPILOGUE_RELU) &&
	       second->argument[GEMM_A].tensor == first->argument[GEMM_C].tensor &&
	       second->argument[GEMM_M].u == first->argument[GEMM_M].u &&
	       second->argument[GEMM_K].i == first->argument[GEMM_N].i;
}

struct launch gemm_sequence(const struct launch *first, const struct launch *second)
{
	const struct argument *x = first->argument, *y = second->argument;

	return (struct launch){
		.kernel = "dense_forward_16x16",
		.groups = { first->groups[0], first->groups[1] },
		ARGUMENTS(x[GEMM_A], x[GEMM_B], x[GEMM_BIAS], x[GEMM_C], y[GEMM_B], y[GEMM_BIAS], y[GEMM_C],
			  x[GEMM_M], x[GEMM_K], x[GEMM_N], y[GEMM_N], x[GEMM_EPILOGUE], y[GEMM_EPILOGUE],
			  x[GEMM_SCALE], x[GEMM_THRESHOLD], x[GEMM_LAYER], x[GEMM_STEP], x[GEMM_FIRST_ROW],
			  x[GEMM_KEY_LOW], x[GEMM_KEY_HIGH]),
	};
}
