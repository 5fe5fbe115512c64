/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of fusion, applied in this order, because each rule looks for launches that the rules before it
 * have made. "A -> t" is a launch that computes tensor t.
 *
 * - dropout (of a gradient), relu_backward: one relu_backward that reads the output of the dropout,
 *   because this output is > 0 exactly where both pass the gradient on
 * - GEMM -> z, bias_add z: GEMM with bias
 * - GEMM -> t, relu or dropout t -> u: GEMM -> u, if nothing else reads t
 * - GEMM -> dy, relu_backward dy, y -> dx: GEMM -> dx with mask y
 * - max_pool_backward -> dy, relu_backward dy, y -> dx, where the pool reads y: max_pool_backward -> dx,
 * which reads the numbers that the pool has chosen from y instead of y: a quarter of them in a pool of 2 x 2
 * - GEMM x B, column_sums of B: GEMM with one more row of groups
 * - GEMM x^T dy -> dw, GEMM dy w^T -> dx: one launch for both, if one tile has all columns of dw
 * - GEMM -> y, GEMM y w -> z: one launch for both, if one tile has all columns of each (not CPUs)
 */
#include "model/plan/fuse.h"

#include "model/plan/gemm.h"

#include <string.h>

static bool is(const struct launch *launch, const char *kernel)
{
	return launch->kernel && !strcmp(launch->kernel, kernel);
}

static bool is_dropout(const struct launch *launch)
{
	return is(launch, "dropout") || is(launch, "dropout_lines");
}

static bool is_gemm(const struct launch *launch)
{
	return launch->kernel && gemm_is(launch);
}

/* Returns how many arguments of the launches with the indices begin ... end - 1 are this tensor. */
static uint32_t uses_between(const struct plan *plan, uint32_t begin, uint32_t end, uint32_t tensor)
{
	uint32_t count = 0;

	for (uint32_t i = begin; i < end; i++) {
		const struct launch *launch = &plan->launch[i];

		for (uint32_t j = 0; launch->kernel && j < launch->arguments; j++)
			if (argument_is_tensor(&launch->argument[j]))
				count += launch->argument[j].tensor == tensor;
	}
	return count;
}

static uint32_t uses(const struct plan *plan, uint32_t tensor)
{
	return uses_between(plan, 0, plan->launches, tensor);
}

/* Returns the last launch before index `before` that writes this tensor, or NULL. */
static struct launch *writer(const struct plan *plan, uint32_t before, uint32_t tensor)
{
	while (before-- > 0) {
		struct launch *launch = &plan->launch[before];

		for (uint32_t j = 0; launch->kernel && j < launch->arguments; j++)
			if ((launch->argument[j].kind == ARGUMENT_OUT ||
			     launch->argument[j].kind == ARGUMENT_INOUT) &&
			    launch->argument[j].tensor == tensor)
				return launch;
	}
	return NULL;
}

static void remove_launch(struct launch *launch)
{
	launch->kernel = NULL;
}

/* Applies the first rule: joins dropout(dU -> dT) and relu_backward(dT, T -> dx) where U = dropout(T), into
 * relu_backward(dU, U -> dx). */
static void fuse_masks(struct plan *plan, uint32_t at)
{
	struct launch *relu = &plan->launch[at], *gradient, *forward = NULL;

	if (!is(relu, "relu_backward"))
		return;
	gradient = writer(plan, at, relu->argument[RELU_BACKWARD_DY].tensor);
	if (!gradient || !is_dropout(gradient) || gradient->argument[DROPOUT_ADD].i ||
	    uses(plan, relu->argument[RELU_BACKWARD_DY].tensor) != 2)
		return;
	for (uint32_t i = 0; i < at && !forward; i++)
		if (is_dropout(&plan->launch[i]) &&
		    plan->launch[i].argument[DROPOUT_X].tensor == relu->argument[RELU_BACKWARD_Y].tensor)
			forward = &plan->launch[i];
	if (!forward)
		return;
	relu->argument[RELU_BACKWARD_DY].tensor = gradient->argument[DROPOUT_X].tensor;
	relu->argument[RELU_BACKWARD_Y].tensor = forward->argument[DROPOUT_Y].tensor;
	relu->argument[RELU_BACKWARD_SCALE] = gradient->argument[DROPOUT_SCALE];
	remove_launch(gradient);
}

static void add_epilogue(struct launch *gemm, enum gemm_epilogue flag)
{
	gemm->argument[GEMM_EPILOGUE].u |= flag;
}

static void fuse_bias(struct plan *plan, uint32_t at)
{
	struct launch *bias = &plan->launch[at], *gemm = at ? bias - 1 : NULL;

	if (!gemm || !is(bias, "bias_add") || !is_gemm(gemm) ||
	    gemm->argument[GEMM_C].tensor != bias->argument[BIAS_ADD_Y].tensor ||
	    gemm->argument[GEMM_EPILOGUE].u)
		return;
	gemm->argument[GEMM_BIAS] = bias->argument[BIAS_ADD_BIAS];
	add_epilogue(gemm, EPILOGUE_BIAS);
	remove_launch(bias);
}

/* Returns the GEMM that computes `tensor` if only one launch reads the tensor and the GEMM has no steps of
 * the epilogue other than `flags_before`; else NULL. */
static struct launch *producer(const struct plan *plan, uint32_t at, uint32_t tensor, uint32_t flags_before)
{
	struct launch *gemm = writer(plan, at, tensor);

	if (!gemm || !is_gemm(gemm) || gemm->argument[GEMM_C].kind != ARGUMENT_OUT ||
	    uses(plan, tensor) != 2 || (gemm->argument[GEMM_EPILOGUE].u & ~flags_before))
		return NULL;
	return gemm;
}

static void fuse_relu(struct plan *plan, uint32_t at)
{
	struct launch *relu = &plan->launch[at], *gemm;

	if (!is(relu, "relu"))
		return;
	gemm = producer(plan, at, relu->argument[RELU_X].tensor, EPILOGUE_BIAS);
	if (!gemm)
		return;
	add_epilogue(gemm, EPILOGUE_RELU);
	gemm->argument[GEMM_C].tensor = relu->argument[RELU_Y].tensor;
	remove_launch(relu);
}

static void fuse_dropout(struct plan *plan, uint32_t at)
{
	struct launch *dropout = &plan->launch[at], *gemm;
	const struct argument *argument = dropout->argument;

	if (!is_dropout(dropout) || argument[DROPOUT_ADD].i)
		return;
	gemm = producer(plan, at, argument[DROPOUT_X].tensor, EPILOGUE_BIAS | EPILOGUE_RELU);
	/* The random numbers of dropout depend on the row of the batch, those of an epilogue on the row of
	 * the matrix: only fuse if these rows are the same. */
	if (!gemm || gemm->argument[GEMM_N].i != argument[DROPOUT_COLUMNS].i)
		return;
	add_epilogue(gemm, EPILOGUE_DROPOUT);
	gemm->argument[GEMM_SCALE] = argument[DROPOUT_SCALE];
	gemm->argument[GEMM_THRESHOLD] = argument[DROPOUT_THRESHOLD];
	gemm->argument[GEMM_LAYER] = argument[DROPOUT_LAYER];
	gemm->argument[GEMM_C].tensor = argument[DROPOUT_Y].tensor;
	remove_launch(dropout);
}

static void fuse_forward(struct plan *plan, uint32_t at)
{
	fuse_relu(plan, at);
	fuse_dropout(plan, at);
}

/* Returns whether the relu_backward at this index can be computed at the place of an earlier launch: no
 * launch after that one uses dx, to which relu_backward may add. */
static bool can_move(const struct plan *plan, uint32_t at, const struct launch *to)
{
	return !uses_between(plan, (uint32_t)(to - plan->launch), at,
			     plan->launch[at].argument[RELU_BACKWARD_DX].tensor);
}

static void fuse_backward(struct plan *plan, uint32_t at)
{
	struct launch *relu = &plan->launch[at], *gemm;

	if (!is(relu, "relu_backward"))
		return;
	gemm = producer(plan, at, relu->argument[RELU_BACKWARD_DY].tensor, 0);
	if (!gemm || !can_move(plan, at, gemm))
		return;
	gemm->argument[GEMM_MASK] = relu->argument[RELU_BACKWARD_Y];
	gemm->argument[GEMM_SCALE] = relu->argument[RELU_BACKWARD_SCALE];
	gemm->argument[GEMM_C].tensor = relu->argument[RELU_BACKWARD_DX].tensor;
	add_epilogue(gemm, EPILOGUE_MASK);
	if (relu->argument[RELU_BACKWARD_ADD].i) {
		gemm->argument[GEMM_C].kind = ARGUMENT_INOUT;
		add_epilogue(gemm, EPILOGUE_ADD);
	}
	remove_launch(relu);
}

/* Returns the launch of the forward pass of a max_pool_backward. */
static const struct launch *pool_of(const struct plan *plan, const struct launch *backward)
{
	const struct launch *pool = plan->launch;

	while (!is(pool, "max_pool") ||
	       pool->argument[MAX_POOL_BEST].tensor != backward->argument[MAX_POOL_BACKWARD_BEST].tensor)
		pool++;
	return pool;
}

static void fuse_pool(struct plan *plan, uint32_t at)
{
	struct launch *relu = &plan->launch[at], *backward;
	const struct launch *pool;

	if (!is(relu, "relu_backward") || relu->argument[RELU_BACKWARD_SCALE].f != 1 ||
	    uses(plan, relu->argument[RELU_BACKWARD_DY].tensor) != 2)
		return;
	backward = writer(plan, at, relu->argument[RELU_BACKWARD_DY].tensor);
	if (!backward || !is(backward, "max_pool_backward") || !can_move(plan, at, backward))
		return;
	pool = pool_of(plan, backward);
	if (pool->argument[MAX_POOL_X].tensor != relu->argument[RELU_BACKWARD_Y].tensor)
		return;
	backward->argument[MAX_POOL_BACKWARD_POOLED] = (struct argument)IN(pool->argument[MAX_POOL_Y].tensor);
	backward->argument[MAX_POOL_BACKWARD_DX] =
		(struct argument){ .kind = relu->argument[RELU_BACKWARD_ADD].i ? ARGUMENT_INOUT
									       : ARGUMENT_OUT,
				   .tensor = relu->argument[RELU_BACKWARD_DX].tensor };
	backward->argument[MAX_POOL_BACKWARD_ADD] = relu->argument[RELU_BACKWARD_ADD];
	remove_launch(relu);
}

static void fuse_column_sums(struct plan *plan, uint32_t at)
{
	struct launch *sums = &plan->launch[at], *gemm = at ? sums - 1 : NULL;

	if (!gemm || !is(sums, "column_sums") || !is_gemm(gemm) ||
	    gemm->argument[GEMM_B].tensor != sums->argument[COLUMN_SUMS_X].tensor)
		return;
	gemm->argument[GEMM_BIAS_GRADIENT] = sums->argument[COLUMN_SUMS_SUMS];
	gemm->groups[0].extra = 1;
	remove_launch(sums);
}

/* Returns the last launch before an index that has not been removed, or NULL. */
static struct launch *launch_before(const struct plan *plan, uint32_t at)
{
	while (at-- > 0)
		if (plan->launch[at].kernel)
			return &plan->launch[at];
	return NULL;
}

static bool has_only(const struct launch *gemm, uint32_t flags)
{
	return !(gemm->argument[GEMM_EPILOGUE].u & ~flags);
}

/* Joins the two gradients of a dense layer. Two small launches in one save a few microseconds, and the groups
 * of both run at the same time. */
static void fuse_gradients(struct plan *plan, uint32_t at)
{
	struct launch *dx = &plan->launch[at], *dw = launch_before(plan, at);

	if (!dw || !gemm_is_pair(dw, dx) || !has_only(dw, EPILOGUE_ADD | EPILOGUE_WIDE) ||
	    !has_only(dx, EPILOGUE_MASK | EPILOGUE_ADD))
		return;
	*dw = gemm_pair(dw, dx);
	remove_launch(dx);
}

static void fuse_layers(struct plan *plan, uint32_t at)
{
	struct launch *second = &plan->launch[at], *first = launch_before(plan, at);

	if (!first || !gemm_is_sequence(first, second))
		return;
	*first = gemm_sequence(first, second);
	remove_launch(second);
}

void plan_fuse(struct plan *plan)
{
	void (*const rules[])(struct plan *, uint32_t) = { fuse_masks,     fuse_bias,  fuse_forward,
							   fuse_backward,  fuse_pool,  fuse_column_sums,
							   fuse_gradients, fuse_layers };
	uint32_t left = 0;

	for (size_t r = 0; r < sizeof(rules) / sizeof(*rules); r++)
		for (uint32_t i = 0; i < plan->launches; i++)
			rules[r](plan, i);
	for (uint32_t i = 0; i < plan->launches; i++)
		if (plan->launch[i].kernel)
			plan->launch[left++] = plan->launch[i];
	plan->launches = left;
}
