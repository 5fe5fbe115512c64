/* SPDX-License-Identifier: Apache-2.0 */
/* Not part of a program: whether a driver compiles this shows whether it knows the instructions of mma.clh. */
#include "mma.clh"
#define ITEMS LANES

#ifdef LANE_TERM
/* to [16, 16] = the product of from [16, 16] and the transposed second from [16, 16]. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void wave_block(__global const ushort *from, __global float *to)
{
	EXCHANGE
	const int lane = get_local_id(0);
	float sum[BLOCK_SUMS];
	uint a[BLOCK_WORDS], b[BLOCK_WORDS];

	for (int e = 0; e < BLOCK_SUMS; e++)
		sum[e] = 0;
	for (int w = 0; w < BLOCK_WORDS; w++) {
		const int at = lane % 16 * 16 + LANE_TERM(lane) + 2 * w;

		a[w] = from[at] | (uint)from[at + 1] << 16;
		b[w] = from[256 + at] | (uint)from[256 + at + 1] << 16;
	}
	BLOCK_MULTIPLY(8, sum, a, b);
	for (int e = 0; e < BLOCK_SUMS; e++)
		to[SUM_ROW(lane, e) * 16 + SUM_COLUMN(lane, e)] = sum[e];
}
#else
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
	MULTIPLY_8(sum, a, b[0], b[1]);
	ROUND_TO_TF32(a[0]);
	MULTIPLY_4(sum, a, b[0], b[1]);
	for (int i = 0; i < 4; i++)
		to[4 * get_local_id(0) + i] = sum[i];
}
#endif

#ifdef WARP_GROUPS
#define A_ALONG_K 1
#define B_ALONG_K 1
#define TILE_COLUMNS 128
#include "wgmma.clh"

/* As much local memory as gemm_mma.cl uses, and a warp group. */
__kernel __attribute__((reqd_work_group_size(4 * ITEMS, 1, 1))) void warp_group(__global float *to)
{
	__local ushort memory[3 * 2 * 128 * 64] __attribute__((aligned(1024)));
	float sum[64];

	for (int n = 0; n < 64; n++)
		sum[n] = 0;
	for (int n = get_local_id(0); n < 3 * 2 * 128 * 64; n += 4 * ITEMS)
		memory[n] = n;
	COPIES_SHOW();
	barrier(CLK_LOCAL_MEM_FENCE);
	GROUP_BEGIN();
	GROUP_MULTIPLY(sum, memory, memory + 128 * 64);
	GROUP_END();
	GROUP_WAIT();
	for (int n = 0; n < 64; n++)
		to[64 * get_local_id(0) + n] = sum[n];
}
#endif
