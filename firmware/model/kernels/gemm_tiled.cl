/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C [M, N] = epilogue(A [M, K] x B [K, N]) for devices that are not CPUs: groups of 16 x 16 work-items, tiles of A and
 * B in local memory; each item computes one element of C. Parameters, epilogue, order of the sums and tolerance are
 * those of gemm.cl. With b_transposed, B is stored as [N, K]. bias_gradient is not used, because the kernel column_sums
 * computes it; group_rows is not used either.
 */

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void gemm_16x16(GEMM_PARAMETERS)
{
	__local float tile_a[SIDE][SIDE + 1], tile_b[SIDE][SIDE + 1];
	const int r = get_local_id(1), c = get_local_id(0);
	const int i = get_group_id(0) * SIDE + r, j0 = get_group_id(1) * SIDE, j = j0 + c;
	float x = 0;

	for (int k0 = 0; k0 < K; k0 += SIDE) {
		tile_a[r][c] = i < M && k0 + c < K ? load((size_t)i * stride_row + (size_t)(k0 + c) * stride_k, A) : 0;
		if (b_transposed)
			tile_b[c][r] = j0 + r < N && k0 + c < K ? load((size_t)(j0 + r) * K + k0 + c, B) : 0;
		else
			tile_b[r][c] = j < N && k0 + r < K ? load((size_t)(k0 + r) * N + j, B) : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < SIDE; k++)
			x = fma(tile_a[r][k], tile_b[k][c], x);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	finish_item(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low,
		    key_high);
}
