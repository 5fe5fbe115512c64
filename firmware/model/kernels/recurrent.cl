/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent layers: each kernel takes some rows of the batch through all time steps of a layer, forward or backward. Before
 * the forward kernel a product has written x W of all steps to `gates`; after the backward kernel, products sum `dgates` over
 * all rows and steps to the gradients of W, U and the biases (layers/recurrent.h says why).
 *
 * Tensors, of `units` units and a layer of G gates (4 lstm, 3 gru, 1 simple_rnn):
 *   gates   [rows, time, G, units] float32: x W; after the forward pass the values of the gates
 *   cells   [rows, time, units] float32: lstm c; gru h U + b' of the third gate; simple_rnn null
 *   before  [rows, time, units]: h before each step, for the backward pass; may be null in the forward pass
 *   state   [rows, units] float32: the newest h
 *   flow    [rows, G + 2, units] float32: gradients of the gates' inputs of a step, of h and of c before the step
 *   dgates  [rows, time, G, units]: gradients of the gates' inputs, as summands x W; dinner: of gru, as summands h U
 *   ids     [rows, time]: a step with id 0 does not count: it leaves h and c as they are; null: all steps count
 *   panels  U, or U transposed, in panels of RECURRENT_LANE columns (recurrent_panels)
 *
 * Work-group: on CPU devices one item, which takes RECURRENT_ROWS rows; in the kernels for GPUs, _group, RECURRENT_ITEMS items
 * and RECURRENT_GROUP_ROWS rows.
 *
 * Reduction class: h U and its gradient are summed over the units in order, one fma per term, beginning with what the sum is
 * added to; the numbers of a row depend on nothing but the row. Reference: layers/recurrent_reference.c. Tolerance: (time * (G * units + 8)) * 2^-24 of
 * the sum of absolute values.
 */

#include "recurrent_flags.h"

/* Every function of a struct recurrent is inlined, so that the struct stays in registers. */
#define INLINE __attribute__((always_inline))

struct recurrent {
	__global float *gates, *cells, *state, *flow;
	__global stored *before, *y, *dgates, *dinner;
	__global const stored *dy;
	__global const float *panels, *bias;
	__global const long *ids; /* null: every step counts */
	int rows, time, units, flags, activation, recurrent_activation;
};

/* Returns the place of step s of a row in [rows, time] of the input. */
size_t step_place(const struct recurrent *q, int row, int s)
{
	return (size_t)row * q->time + (q->flags & RECURRENT_BACKWARDS ? q->time - 1 - s : s);
}

/* Whether step s of a row leaves the state as it is. */
bool is_skipped(const struct recurrent *q, int row, int s)
{
	return q->ids && q->ids[step_place(q, row, s)] == 0;
}

/* Returns the time step of the output at which step s lies. */
int output_step(const struct recurrent *q, int s)
{
	return q->flags & RECURRENT_BACKWARDS && q->flags & RECURRENT_KEEP_ORDER ? q->time - 1 - s : s;
}

int panels_of(int units)
{
	return (units + RECURRENT_LANE - 1) / RECURRENT_LANE;
}

#ifdef CPU_DEVICE
#define CELL(name)           name##_16
#define UNITS_OF             float16
#define CELL_GET(n, p)       get_some(n, p)
#define CELL_PUT(x, n, p)    put_some(x, n, p)
#define CELL_LOAD(n, p)      load_some(n, p)
#define CELL_STORE(x, n, p)  store_some(x, n, p)
#include "recurrent_cell.clh"
#endif

#define CELL(name)           name##_1
#define UNITS_OF             float
#define CELL_GET(n, p)       (*(p))
#define CELL_PUT(x, n, p)    (*(p) = (x))
#define CELL_LOAD(n, p)      load(0, p)
#define CELL_STORE(x, n, p)  store(x, 0, p)
#include "recurrent_cell.clh"

/* Writes a matrix [terms, gates * units] in panels [gates, ceil(units / LANE), terms, LANE]; columns after the last unit are 0.
 * With `turned` the matrix is stored as [gates * units, terms]. */
ELEMENTS recurrent_panels(__global const float *from, __global float *to, int terms, int gates, int units, int turned)
{
	const int i = get_global_id(0), lane = i % RECURRENT_LANE, k = i / RECURRENT_LANE % terms,
		  panel = i / RECURRENT_LANE / terms, blocks = panels_of(units);
	const int unit = panel % blocks * RECURRENT_LANE + lane, column = panel / blocks * units + unit;

	if (panel >= gates * blocks)
		return;
	to[i] = unit >= units ? 0 : turned ? from[(size_t)column * terms + k] : from[(size_t)k * gates * units + column];
}

/* The gradient of gru's bias [2, columns]: sums over the rows of dgates, then of dinner. The sums have the order of
 * column_sums. Tolerance: rows * 2^-24 of the sum of absolute values. */
ELEMENTS gru_bias(__global const stored *dgates, __global const stored *dinner, __global float *sums, int rows, int columns)
{
	const int i = get_global_id(0);
	__global const stored *from = i < columns ? dgates : dinner;
	float total = 0;

	if (i >= 2 * columns)
		return;
	for (int r0 = 0; r0 < rows; r0 += COLUMN_CHUNK) {
		float sum = 0;

		for (int r = r0; r < min(rows, r0 + COLUMN_CHUNK); r++)
			sum += load((size_t)r * columns + i % columns, from);
		total += sum;
	}
	sums[i] = total;
}

/* Parameters of the kernels, and the same as a struct. */
#define RECURRENT_FORWARD                                                                                            \
	(__global float *gates, __global float *cells, __global float *state, __global stored *before,              \
	 __global stored *y, __global const float *panels, __global const float *bias, int rows, int time,           \
	 int units, int flags, int activation, int recurrent_activation, __global const long *ids)
#define FORWARD_GIVEN                                                                                                \
	{ .gates = gates, .cells = cells, .state = state, .before = before, .y = y, .panels = panels, .bias = bias,  \
	  .rows = rows, .time = time, .units = units, .flags = flags,              \
	  .activation = activation, .recurrent_activation = recurrent_activation, .ids = ids }
#define RECURRENT_BACKWARD                                                                                           \
	(__global const stored *dy, __global float *gates, __global float *cells, __global stored *before,          \
	 __global const float *panels, __global stored *dgates, __global stored *dinner, __global float *flow,       \
	 int rows, int time, int units, int flags, int activation, int recurrent_activation,                          \
	 __global const long *ids)
#define BACKWARD_GIVEN                                                                                               \
	{ .dy = dy, .gates = gates, .cells = cells, .before = before, .panels = panels, .dgates = dgates,            \
	  .dinner = dinner, .flow = flow, .rows = rows, .time = time, .units = units, .flags = flags,                \
	  .activation = activation, .recurrent_activation = recurrent_activation, .ids = ids }

#ifdef CPU_DEVICE
/* ---- CPU devices ---- */

#define EACH4(X) X(0) X(1) X(2) X(3)
#ifdef __AVX512F__
#define PANEL_ROWS 8
#define EACH(X)    EACH4(X) X(4) X(5) X(6) X(7)
#else
#define PANEL_ROWS 4 /* 8 sums of 8 lanes: as many as the multiply-adds under way at once */
#define EACH(X)    EACH4(X)
#endif
/* After the last row, the last row again: it gets the same sums again. */
#define PANEL_A(r)     __global const float *a##r = a + (size_t)min(r, last) * stride_a;
#define PANEL_C(r)     __global float *c##r = c + (size_t)min(r, last) * stride_c; float16 sum##r = add ? get_some(n, c##r) : 0;
#define PANEL_TERM(r)  sum##r = fma((float16)(a##r[k]), b, sum##r);
#define PANEL_PUT(r)   put_some(sum##r, n, c##r);

/* c (+)= a times a panel of n columns, for PANEL_ROWS rows at most. */
void panel_rows(__global const float *a, size_t stride_a, int terms, __global const float *panel, bool add, __global float *c,
		size_t stride_c, int n, int last)
{
	EACH(PANEL_A)
	EACH(PANEL_C)
	for (int k = 0; k < terms; k++) {
		const float16 b = get16(k, (const __global float *)panel);

		EACH(PANEL_TERM)
	}
	EACH(PANEL_PUT)
}

/* c (+)= a times panels [blocks, terms, LANE]: a row of c has `units` columns. */
void panel_product(__global const float *a, size_t stride_a, int terms, __global const float *panels, bool add,
		   __global float *c, size_t stride_c, int units, int rows)
{
	for (int j = 0; j < units; j += RECURRENT_LANE)
		for (int r = 0; r < rows; r += PANEL_ROWS)
			panel_rows(a + r * stride_a, stride_a, terms, panels + (size_t)j * terms, add,
				   c + r * stride_c + j, stride_c, min(units - j, RECURRENT_LANE), rows - 1 - r);
}

/* Defines a kernel for CPU devices, of a layer with so many gates; STEP is the function of recurrent_cell.clh. INNER: whether
 * h U of the last gate goes to `cells` by itself. */
#define CPU_KERNEL __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
#define FORWARD_CPU_KERNEL(name, STEP, GATES, INNER)                                                                        \
	CPU_KERNEL name RECURRENT_FORWARD                                                                            \
	{                                                                                                            \
		const struct recurrent q = FORWARD_GIVEN;                                                            \
		const int first = get_global_id(0) * RECURRENT_ROWS, own = min(RECURRENT_ROWS, rows - first);       \
		const size_t row = (size_t)time * units;                                                             \
                                                                                                                     \
		for (int s = 0; s < time; s++) {                                                                     \
			const size_t at = step_place(&q, first, s);                                                   \
                                                                                                                     \
			for (int g = 0; s > 0 && g < GATES; g++) {                                                   \
				const bool is_inner = INNER && g == GATES - 1;                                       \
                                                                                                                     \
				panel_product(state + (size_t)first * units, units, units,                           \
					      panels + (size_t)g * panels_of(units) * units * RECURRENT_LANE,        \
					      !is_inner,                                                             \
					      is_inner ? cells + at * units : gates + (at * GATES + g) * units,      \
					      is_inner ? row : GATES * row, units, own);                             \
			}                                                                                            \
			for (int r = first; r < first + own; r++)                                                    \
				for (int j = 0; j < units; j += RECURRENT_LANE)                                      \
					STEP(&q, r, s, j, min(units - j, RECURRENT_LANE));                            \
		}                                                                                                    \
	}
#define BACKWARD_CPU_KERNEL(name, STEP, GATES)                                                                              \
	CPU_KERNEL name RECURRENT_BACKWARD                                                                           \
	{                                                                                                            \
		const struct recurrent q = BACKWARD_GIVEN;                                                           \
		const int first = get_global_id(0) * RECURRENT_ROWS, own = min(RECURRENT_ROWS, rows - first);       \
		const size_t row = (size_t)(GATES + 2) * units;                                                      \
                                                                                                                     \
		for (int s = time - 1; s >= 0; s--) {                                                                \
			for (int r = first; r < first + own; r++)                                                    \
				for (int j = 0; j < units; j += RECURRENT_LANE)                                      \
					STEP(&q, r, s, j, min(units - j, RECURRENT_LANE));                            \
			if (s > 0)                                                                                   \
				panel_product(flow + first * row, row, GATES * units, panels, true,                  \
					      flow + first * row + GATES * units, row, units, own);                  \
		}                                                                                                    \
	}

FORWARD_CPU_KERNEL(lstm, lstm_16, 4, false)
BACKWARD_CPU_KERNEL(lstm_gradients, lstm_backward_16, 4)
FORWARD_CPU_KERNEL(gru, gru_16, 3, true)
BACKWARD_CPU_KERNEL(gru_gradients, gru_backward_16, 3)
FORWARD_CPU_KERNEL(simple_rnn, simple_rnn_16, 1, false)
BACKWARD_CPU_KERNEL(simple_rnn_gradients, simple_rnn_backward_16, 1)
#endif

/* ---- GPUs ---- */

/* The sums of a column for RECURRENT_GROUP_ROWS rows; a row after the last one is the last one again. */
float4 column_product(__global const float *a, size_t stride, int terms, __global const float *panel, int rows, float4 sum)
{
	__global const float *a1 = a + min(1, rows - 1) * stride, *a2 = a + min(2, rows - 1) * stride,
			     *a3 = a + min(3, rows - 1) * stride;

#pragma unroll 4
	for (int k = 0; k < terms; k++)
		sum = fma((float4)(a[k], a1[k], a2[k], a3[k]), (float4)(panel[(size_t)k * RECURRENT_LANE]), sum);
	return sum;
}

/* c (+)= a times panels [gates, blocks, terms, LANE], by all items of the group. A row of c has gates * units columns; those of
 * the last gate go to `inner` instead, [rows of stride_inner], if it is not null. */
void group_product(__global const float *a, size_t stride_a, int terms, __global const float *panels, int gates, int units,
		   __global float *c, size_t stride_c, __global float *inner, size_t stride_inner, int rows)
{
	const int columns = panels_of(units) * RECURRENT_LANE;

	for (int i = get_local_id(0); rows > 0 && i < gates * columns; i += RECURRENT_ITEMS) {
		const int g = i / columns, unit = i % columns;
		const bool is_inner = inner && g == gates - 1;
		__global float *to = is_inner ? inner + unit : c + (size_t)g * units + unit;
		const size_t stride = is_inner ? stride_inner : stride_c;
		float4 sum = 0;

		if (unit >= units)
			continue;
		if (!is_inner)
			sum = (float4)(to[0], to[min(1, rows - 1) * stride], to[min(2, rows - 1) * stride],
				       to[min(3, rows - 1) * stride]);
		sum = column_product(a, stride_a, terms,
				     panels + (size_t)(i / RECURRENT_LANE) * terms * RECURRENT_LANE + i % RECURRENT_LANE,
				     rows, sum);
		to[0] = sum.x;
		if (rows > 1)
			to[stride] = sum.y;
		if (rows > 2)
			to[2 * stride] = sum.z;
		if (rows > 3)
			to[3 * stride] = sum.w;
	}
}

#define GROUP_KERNEL __kernel __attribute__((reqd_work_group_size(RECURRENT_ITEMS, 1, 1))) void
#define FORWARD_GROUP_KERNEL(name, STEP, GATES, INNER)                                                                      \
	GROUP_KERNEL name RECURRENT_FORWARD                                                                          \
	{                                                                                                            \
		const struct recurrent q = FORWARD_GIVEN;                                                            \
		const int first = get_group_id(0) * RECURRENT_GROUP_ROWS, own = min(RECURRENT_GROUP_ROWS, rows - first); \
		const size_t row = (size_t)time * units;                                                             \
                                                                                                                     \
		for (int s = 0; s < time; s++) {                                                                     \
			const size_t at = step_place(&q, first, s);                                                   \
                                                                                                                     \
			if (s > 0)                                                                                   \
				group_product(state + (size_t)first * units, units, units, panels, GATES, units,     \
					      gates + at * GATES * units, GATES * row,                               \
					      INNER ? cells + at * units : 0, row, own);                             \
			barrier(CLK_GLOBAL_MEM_FENCE);                                                               \
			for (int i = get_local_id(0); i < own * units; i += RECURRENT_ITEMS)                         \
				STEP(&q, first + i / units, s, i % units, 1);                                         \
			barrier(CLK_GLOBAL_MEM_FENCE);                                                               \
		}                                                                                                    \
	}
#define BACKWARD_GROUP_KERNEL(name, STEP, GATES)                                                                            \
	GROUP_KERNEL name RECURRENT_BACKWARD                                                                         \
	{                                                                                                            \
		const struct recurrent q = BACKWARD_GIVEN;                                                           \
		const int first = get_group_id(0) * RECURRENT_GROUP_ROWS, own = min(RECURRENT_GROUP_ROWS, rows - first); \
		const size_t row = (size_t)(GATES + 2) * units;                                                      \
                                                                                                                     \
		for (int s = time - 1; s >= 0; s--) {                                                                \
			for (int i = get_local_id(0); i < own * units; i += RECURRENT_ITEMS)                         \
				STEP(&q, first + i / units, s, i % units, 1);                                         \
			barrier(CLK_GLOBAL_MEM_FENCE);                                                               \
			if (s > 0)                                                                                   \
				group_product(flow + first * row, row, GATES * units, panels, 1, units,              \
					      flow + first * row + GATES * units, row, 0, 0, own);                   \
			barrier(CLK_GLOBAL_MEM_FENCE);                                                               \
		}                                                                                                    \
	}

FORWARD_GROUP_KERNEL(lstm_group, lstm_1, 4, false)
BACKWARD_GROUP_KERNEL(lstm_gradients_group, lstm_backward_1, 4)
FORWARD_GROUP_KERNEL(gru_group, gru_1, 3, true)
BACKWARD_GROUP_KERNEL(gru_gradients_group, gru_backward_1, 3)
FORWARD_GROUP_KERNEL(simple_rnn_group, simple_rnn_1, 1, false)
BACKWARD_GROUP_KERNEL(simple_rnn_gradients_group, simple_rnn_backward_1, 1)
