/* SPDX-License-Identifier: Apache-2.0 */
/* Not part of a program: whether a driver compiles this shows whether it knows the instructions of mma.clh. */
#define ITEMS 32
#include "mma.clh"

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void tensor_cores(__global const ushort *from, __global float *to)
{
	__local ushort memory[16 * ITEMS] __attribute__((aligned(128)));
	EXCHANGE
	float sum[4] = { 0, 0, 0, 0 };
	uint a[4], b[4];

	COPY_CHUNK(memory + 8 * get_local_id(0), from + 8 * get_local_id(0), 8);
	COPIES_END();
	COPIES_WAIT(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	LOAD_MATRICES(a, memory + 8 * get_local_id(0));
	LOAD_MATRICES_TRANSPOSED(b, memory + 8 * get_local_id(0));
	MULTIPLY(sum, a, b[0], b[1]);
	for (int i = 0; i < 4; i++)
		to[4 * get_local_id(0) + i] = sum[i];
}
