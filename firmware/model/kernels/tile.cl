/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by products and convolutions: their parameters, the epilogue that is applied to a tile or an element of C,
 * sums of columns, and the macros that declare the accumulators of a tile. See gemm.cl.
 */

#define EPILOGUE_BIAS    1u
#define EPILOGUE_RELU    2u
#define EPILOGUE_DROPOUT 4u
#define EPILOGUE_MASK    8u
#define EPILOGUE_ADD     16u
#define EPILOGUE_WIDE    32u /* C is a gradient of weights: float32, also if activations are not */

#define COLUMN_CHUNK 32

#define GEMM_PARAMETERS                                                                                   \
	__global const stored *A, __global const stored *B, __global stored *C, int M, int N, int K,      \
		int stride_row, int stride_k, int b_transposed, int group_rows, uint epilogue,            \
		__global const float *bias,                                                               \
		__global const stored *mask, __global float *bias_gradient, float scale, uint threshold,  \
		uint layer, uint step, uint first_row, uint key_low, uint key_high
#define GEMM_GIVEN                                                                                        \
	A, B, C, M, N, K, stride_row, stride_k, b_transposed, group_rows, epilogue, bias, mask, bias_gradient, \
		scale, threshold, layer, step, first_row, key_low, key_high

#define LANES ((uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

void store_lanes(float16 x, int count, __global float *out)
{
	float lane[16];

	put16(x, 0, lane);
	for (int i = 0; i < count; i++)
		out[i] = lane[i];
}

/* Stores `columns` numbers, at most 16, at index `at` of C; with EPILOGUE_WIDE C holds floats. */
void finish_lanes(float16 x, int columns, __global stored *C, size_t at, uint epilogue)
{
	if (epilogue & EPILOGUE_WIDE && columns >= 16)
		put16(x, 0, (__global float *)C + at);
	else if (epilogue & EPILOGUE_WIDE)
		store_lanes(x, columns, (__global float *)C + at);
	else
		store_some(x, columns, C + at);
}

/* Applies the epilogue to the rows of a tile and stores them. */
void finish_tile(const float *tile, int rows, int vectors, int i0, int j0, __global stored *C, int M, int N,
		 uint epilogue, __global const float *bias, __global const stored *mask, float scale, uint threshold,
		 uint layer, uint step, uint first_row, uint key_low, uint key_high)
{
	const float16 zero = 0;
	uint16 words[4 * PHILOX_ROWS];

	for (int r = 0; r < rows && i0 + r < M; r++) {
		const size_t at = (size_t)(i0 + r) * N + j0;
		const uint16 *row_words = words + 4 * (r % PHILOX_ROWS);

		if (epilogue & EPILOGUE_DROPOUT && r % PHILOX_ROWS == 0)
			philox16((uint16)(j0 / 64 * 16) + LANES, first_row + i0 + r, step, layer, key_low, key_high, words);
		for (int v = 0; v < vectors && j0 + 16 * v < N; v++) {
			float16 x = get16(r * vectors + v, tile);
			const int columns = N - j0 - 16 * v;

			if (epilogue & EPILOGUE_BIAS)
				x += get16(v, bias + j0);
			if (epilogue & EPILOGUE_RELU)
				x = select(x, zero, x < zero);
			if (epilogue & EPILOGUE_DROPOUT)
				x = select(zero, x * scale, row_words[(j0 / 16 + v) % 4] >= threshold);
			if (epilogue & EPILOGUE_MASK)
				x = select(zero, x * scale, load16(v, mask + at) > zero);
			/* Not 16 numbers at the end of a row: another group may be writing the start of the next one. */
			if (epilogue & EPILOGUE_ADD)
				x += load_some(columns, C + at + 16 * v);
			finish_lanes(x, columns, C, at + 16 * v, epilogue);
		}
	}
}

/* Writes the sums of columns j0 ... j0 + 16 * vectors - 1 of B. */
void column_sums_tile(int vectors, int j0, __global const stored *B, int N, int K, __global float *sums)
{
	for (int v = 0; v < vectors && j0 + 16 * v < N; v++) {
		const int j = j0 + 16 * v;
		float16 total = 0;

		for (int k0 = 0; k0 < K; k0 += COLUMN_CHUNK) {
			float16 partial = 0;

			for (int k = k0; k < min(K, k0 + COLUMN_CHUNK); k++)
				partial += load16(0, B + (size_t)k * N + j);
			total += partial;
		}
		if (N - j >= 16)
			put16(total, 0, sums + j);
		else
			store_lanes(total, N - j, sums + j);
	}
}

/* Adds COLUMN_LOADS rows of column j of B, from row k on, to `sum`, those that are less than K. All loads are under way at
 * the same time; a row behind the last one loads the last one instead. */
#define COLUMN_LOADS 16
float add_column(float sum, __global const stored *B, int N, int K, int k, int j)
{
	float x[COLUMN_LOADS];

	_Pragma("unroll") for (int i = 0; i < COLUMN_LOADS; i++)
		x[i] = load((size_t)min(k + i, K - 1) * N + j, B);
	_Pragma("unroll") for (int i = 0; i < COLUMN_LOADS; i++)
		sum = k + i < K ? sum + x[i] : sum;
	return sum;
}

/* Writes the sums of `columns` columns of B, from j0 on, by a group of `items` items. Items sum chunks of a column side by
 * side, and the first of them adds the chunks in order. `partial` [items]. */
void column_sums_group(__global const stored *B, int N, int K, int j0, int columns, int items, __local float *partial,
		       __global float *sums)
{
	const int lines = items / columns, line = get_local_id(0) / columns, own = get_local_id(0) % columns, j = j0 + own;
	float total = 0;

	for (int first = 0; first < K; first += lines * COLUMN_CHUNK) {
		const int k0 = first + line * COLUMN_CHUNK;
		float sum = 0;

#pragma unroll 1
		for (int k = k0; j < N && k < min(K, k0 + COLUMN_CHUNK); k += COLUMN_LOADS)
			sum = add_column(sum, B, N, K, k, j);
		barrier(CLK_LOCAL_MEM_FENCE);
		partial[get_local_id(0)] = sum;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = 0; line == 0 && i < lines && first + i * COLUMN_CHUNK < K; i++)
			total += partial[i * columns + own];
	}
	if (line == 0 && j < N)
		sums[j] = total;
}

/* Applies the epilogue to an element and stores it. */
void finish_item(float x, int i, int j, __global stored *C, int M, int N, uint epilogue, __global const float *bias,
		 __global const stored *mask, float scale, uint threshold, uint layer, uint step, uint first_row,
		 uint key_low, uint key_high)
{
	const size_t at = (size_t)i * N + j;

	if (i >= M || j >= N)
		return;
	if (epilogue & EPILOGUE_BIAS)
		x += bias[j];
	if (epilogue & EPILOGUE_RELU)
		x = x < 0 ? 0 : x;
	if (epilogue & EPILOGUE_DROPOUT)
		x = dropout_keeps(j, first_row + i, step, layer, key_low, key_high, threshold) ? x * scale : 0;
	if (epilogue & EPILOGUE_MASK)
		x = load(at, mask) > 0 ? x * scale : 0;
	if (epilogue & EPILOGUE_ADD)
		x += load(at, C);
	if (epilogue & EPILOGUE_WIDE)
		((__global float *)C)[at] = x;
	else
		store(x, at, C);
}

/* Applies the epilogue to four neighbouring elements of a row and stores them, by one access if all are in C and N is a
 * multiple of 4. */
void finish_four(float4 x, int i, int j, __global stored *C, int M, int N, uint epilogue, __global const float *bias,
		 __global const stored *mask, float scale, uint threshold, uint layer, uint step, uint first_row,
		 uint key_low, uint key_high)
{
	const size_t at = (size_t)i * N + j;

	if (i >= M || j >= N)
		return;
	if (N % 4 || epilogue & EPILOGUE_DROPOUT) {
		/* Not unrolled: Philox four times would make the kernels several times as long. */
#pragma unroll 1
		for (int c = 0; c < 4; c++)
			finish_item(c < 2 ? (c ? x.y : x.x) : c < 3 ? x.z : x.w, i, j + c, C, M, N, epilogue, bias, mask, scale, threshold, layer, step,
				    first_row, key_low, key_high);
		return;
	}
	if (epilogue & EPILOGUE_BIAS)
		x += *(__global const float4 *)(bias + j);
	if (epilogue & EPILOGUE_RELU)
		x = select(x, (float4)(0), x < (float4)(0));
	if (epilogue & EPILOGUE_MASK)
		x = select((float4)(0), x * scale, load4(mask + at) > (float4)(0));
	if (epilogue & EPILOGUE_ADD)
		x += load4(C + at);
	if (epilogue & EPILOGUE_WIDE)
		*(__global float4 *)((__global float *)C + at) = x;
	else
		store4(x, C + at);
}

#define OFFSET(r) const size_t o##r = (size_t)min(i0 + r, M - 1) * stride_row;
#define SIX(X)    X(0) X(1) X(2) X(3) X(4) X(5)
#define EIGHT(X)  SIX(X) X(6) X(7)

#define ZERO1(r)  float16 c##r##_0 = 0;
#define ZERO2(r)  ZERO1(r) float16 c##r##_1 = 0;
#define ZERO4(r)  ZERO2(r) float16 c##r##_2 = 0, c##r##_3 = 0;
#define LOAD1     const float16 b0 = load16(0, b);
#define LOAD2     LOAD1 const float16 b1 = load16(1, b);
#define LOAD4     LOAD2 const float16 b2 = load16(2, b), b3 = load16(3, b);
#define TERM(r, v) c##r##_##v = fma(x, b##v, c##r##_##v);
#define STEP1(r)  { const float16 x = load(o##r, a); TERM(r, 0) }
#define STEP2(r)  { const float16 x = load(o##r, a); TERM(r, 0) TERM(r, 1) }
#define STEP4(r)  { const float16 x = load(o##r, a); TERM(r, 0) TERM(r, 1) TERM(r, 2) TERM(r, 3) }
#define STORE1(r) put16(c##r##_0, r, tile);
#define STORE2(r) put16(c##r##_0, 2 * r, tile); put16(c##r##_1, 2 * r + 1, tile);
#define STORE4(r)                                                               \
	put16(c##r##_0, 4 * r, tile); put16(c##r##_1, 4 * r + 1, tile);   \
	put16(c##r##_2, 4 * r + 2, tile); put16(c##r##_3, 4 * r + 3, tile);
#define PUT(r, v)  store16(c##r##_##v, v, c + (size_t)r * N);
#define PUT1(r)    PUT(r, 0)
#define PUT2(r)    PUT(r, 0) PUT(r, 1)
#define PUT4(r)    PUT(r, 0) PUT(r, 1) PUT(r, 2) PUT(r, 3)

/* Defines the function of a work-group of gemm.cl, which computes a tile of `rows` rows and 16 * `vectors` columns. The
 * other arguments are macros that work on the accumulators of the tile. */
#define GEMM_GROUP(name, rows, vectors, OFFSETS, ZERO, LOAD, STEP, STORE, C_STORE)                              \
	void name(int row_group, int column_group, GEMM_PARAMETERS)                                             \
	{                                                                                                       \
		const int i0 = row_group * rows, j0 = column_group * 16 * vectors;                              \
		__global const stored *a = A, *b = B + j0;                                                      \
		float tile[rows * 16 * vectors] __attribute__((aligned(64)));                                   \
                                                                                                                \
		if (i0 >= M) {                                                                                  \
			column_sums_tile(vectors, j0, B, N, K, bias_gradient);                                  \
			return;                                                                                 \
		}                                                                                               \
		OFFSETS ZERO for (int k = 0; k < K; k++)                                                        \
		{                                                                                               \
			LOAD STEP a += stride_k;                                                                \
			b += N;                                                                                 \
		}                                                                                               \
		if (!epilogue && i0 + rows <= M && j0 + 16 * vectors <= N) {                                    \
			__global stored *c = C + (size_t)i0 * N + j0;                                           \
                                                                                                                \
			C_STORE return;                                                                         \
		}                                                                                               \
		STORE finish_tile(tile, rows, vectors, i0, j0, C, M, N, epilogue, bias, mask, scale,            \
				  threshold, layer, step, first_row, key_low, key_high);                        \
	}

/* Defines a kernel that calls the function `group` with the two indices of the work-group. */
#define GEMM_SINGLE(name, group)                                                                        \
	SINGLE name(GROUP_ID GEMM_PARAMETERS)                                                           \
	{                                                                                               \
		group(group_id(0), group_id(1), GEMM_GIVEN);                                            \
	}
