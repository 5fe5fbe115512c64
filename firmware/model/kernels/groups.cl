/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of the work-groups of most kernels, and functions that reduce a row, a vector or a work-group in a fixed
 * order. */

#define ELEMENT_GROUP 64
#define ELEMENTS      __kernel __attribute__((reqd_work_group_size(ELEMENT_GROUP, 1, 1))) void

#define ROW_GROUP 16
#define ROWS      __kernel __attribute__((reqd_work_group_size(ROW_GROUP, 1, 1))) void

#define GRADIENT_GROUP 64
#define GRADIENTS      __kernel __attribute__((reqd_work_group_size(GRADIENT_GROUP, 1, 1))) void

/* A SINGLE kernel has groups of one item on CPU devices, where it may be a phase of a chain (chain.cl). Its definition
 * begins with SINGLE, or with a macro whose name ends in SINGLE; it has GROUP_ID before its parameters, and uses
 * group_id(0) and group_id(1) instead of get_global_id(). In a program with chains a SINGLE kernel is compiled as a
 * function, which the kernel `chain` calls. plan/kernel_table.c lists these kernels. */
#ifdef CHAINED
#define SINGLE_OF(group) void
#define GROUP_ID         uint group_0, uint group_1,
#define group_id(side)   group_##side
#else
#define SINGLE_OF(group) __kernel __attribute__((reqd_work_group_size(group, 1, 1))) void
#define GROUP_ID
#define group_id(side)   get_global_id(side)
#endif
#define SINGLE SINGLE_OF(1)

/* numbers: what an item reads or writes at once in a region of parameters, gradients or slots. On GPUs neighbouring items
 * then access neighbouring memory. */
#ifdef CPU_DEVICE
#define WIDTH 16
typedef float16 numbers;
#define get_numbers(i, p)    get16(i, p)
#define put_numbers(x, i, p) put16(x, i, p)
#define numbers_sum(x)       vector_sum(x)
#else
#define WIDTH 4
typedef float4 numbers;
#define get_numbers(i, p)    (((__global const float4 *)(p))[i])
#define put_numbers(x, i, p) (((__global float4 *)(p))[i] = (x))
#define numbers_sum(x)       quarter_sum(x)
#endif

#define SIDE 16 /* a group of SIDE x SIDE items computes a tile of SIDE x SIDE numbers */

float row_max(__global const stored *x, int classes)
{
	float most = load(0, x);

	for (int c = 1; c < classes; c++)
		most = load(c, x) > most ? load(c, x) : most;
	return most;
}

float quarter_sum(float4 x)
{
	return (x.x + x.z) + (x.y + x.w);
}

float vector_sum(float16 x)
{
	const float8 a = x.lo + x.hi;

	return quarter_sum(a.lo + a.hi);
}

/* Returns the sum of x over all items of the group; every item gets the same sum. */
float group_sum(float x, __local float *partial)
{
	float sum = 0;

	barrier(CLK_LOCAL_MEM_FENCE);
	partial[get_local_id(0)] = x;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = 0; i < GRADIENT_GROUP; i++)
		sum += partial[i];
	return sum;
}
