/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/projection.h"

#include "model/layers/row.h"
#include "model/plan/gemm.h"
#include "model/plan/storage.h"

static uint32_t stored_kernel(struct plan *plan, const struct projection *p)
{
	return storage_copy(plan, p->node, p->stored, p->node->parameter[p->kernel]);
}

void projection_forward(struct plan *plan, const struct projection *p)
{
	const struct gemm gemm = { .a = p->x,
				   .b = stored_kernel(plan, p),
				   .c = p->y,
				   .m = GEMM_ROWS,
				   .n = p->out,
				   .k = p->in,
				   .per_row = p->steps,
				   .node = p->node };

	gemm_emit(plan, &gemm);
	if (p->bias != GRAPH_NO_TENSOR && p->node->parameter[p->bias] != GRAPH_NO_TENSOR)
		emit_bias_of(plan, p->y, p->node->parameter[p->bias], p->steps, p->out);
}

void projection_gradients(struct plan *plan, const struct projection *p)
{
	const uint32_t bias =
		p->bias == GRAPH_NO_TENSOR ? GRAPH_NO_TENSOR : parameter_gradient(plan, p->node, p->bias);
	const struct gemm gemm = { .a = p->x,
				   .b = p->dy,
				   .c = parameter_gradient(plan, p->node, p->kernel),
				   .m = p->in,
				   .n = p->out,
				   .k = GEMM_ROWS,
				   .per_row = p->steps,
				   .a_transposed = true,
				   .node = p->node };

	if (gemm.c == GRAPH_NO_TENSOR)
		return;
	gemm_emit(plan, &gemm);
	if (bias != GRAPH_NO_TENSOR)
		emit_column_sums(plan, p->dy, bias, p->steps, p->out);
}

void projection_input_gradient(struct plan *plan, const struct projection *p, uint32_t dx, bool add)
{
	const struct gemm gemm = { .a = p->dy,
				   .b = stored_kernel(plan, p),
				   .c = dx,
				   .m = GEMM_ROWS,
				   .n = p->in,
				   .k = p->out,
				   .per_row = p->steps,
				   .b_transposed = true,
				   .add = add,
				   .node = p->node };

	gemm_emit(plan, &gemm);
}
