/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C [M, N] = epilogue(A [M, K] x B [K, N]) on CPU devices, operands read in place; bias_gradient [N] = column sums of B.
 *
 * B and C are row-major; A[i][k] is at index i * stride_row + k * stride_k, so A may be stored transposed. Large
 * products and those with a transposed B are computed by gemm_packed.cl; only its kernels use b_transposed and
 * group_rows. Work-group: one work-item, one tile of C, groups (ceil(M / tile rows) [+ 1 where bias_gradient is not
 * null], ceil(N / tile columns)). Each accumulator is a variable of its own, because PoCL puts an array of float16 into
 * memory, which halves the speed. Edges: rows past M - 1 are computed from row M - 1 and not stored; columns past N - 1
 * are computed from the bytes after B (TENSOR_SLACK) and not stored.
 *
 * Reduction class: each sum runs over k in order with one fma per term, for every size of tile; column sums in chunks
 * of COLUMN_CHUNK rows, then over the chunks. Reference: dense's reference() in layers/dense.c. Tolerance: K * 2^-24 of
 * the sum of absolute products (one rounding per term).
 */

GEMM_GROUP(group_6x64, 6, 4, SIX(OFFSET), SIX(ZERO4), LOAD4, SIX(STEP4), SIX(STORE4), SIX(PUT4))
GEMM_GROUP(group_8x32, 8, 2, EIGHT(OFFSET), EIGHT(ZERO2), LOAD2, EIGHT(STEP2), EIGHT(STORE2), EIGHT(PUT2))
GEMM_GROUP(group_8x16, 8, 1, EIGHT(OFFSET), EIGHT(ZERO1), LOAD1, EIGHT(STEP1), EIGHT(STORE1), EIGHT(PUT1))

GEMM_SINGLE(gemm_6x64, group_6x64)
GEMM_SINGLE(gemm_8x32, group_8x32)
GEMM_SINGLE(gemm_8x16, group_8x16)
