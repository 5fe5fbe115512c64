/* SPDX-License-Identifier: Apache-2.0 */
#if defined(STORED_BFLOAT16) || defined(STORED_FLOAT16)
/*
 * The convolutions of conv_tiled.cl by the tensor cores of warp groups, from 16 bits, with sums in float32: products of
 * tiles, see wgmma_body.clh, which gather the chunks of X from the images. Parameters and references are those of
 * conv_tiled.cl, reduction class and tolerance those of gemm_mma.cl. The numbers of a chunk of 8 must be channels of one
 * tap: the channels and the filters are multiples of 8.
 */
#include "tiled.clh"
#include "mma.clh"
#include "wgmma.clh"
#include "conv_taps.clh"

#define B_ALONG_K             0
#define B_WIDTH               N
#define B_CHUNK(column, k)    B + (size_t)(first + (k)) * N + (column)
/* Chunks of A that an item copies for a stage. */
#define A_COPIES (A_CHUNKS / ITEMS)

/* ---- Outputs, and gradients of inputs: A [positions, taps * K] ---- */

/* The numbers of the chunks that the tap reads; negative: in padding, or behind the last tap. */
#define TAP_BEGIN                                                                                                      \
	UNROLL for (int n = 0; n < A_COPIES; n++)                                                           \
	{                                                                                                              \
		const long from = tap.y < size.y ? channels_at(corner[n], tap, in, dilation, apart, K) : -1;           \
                                                                                                                       \
		a_at[n] = from < 0 ? -1 : (int)((from + tap.z) / 8);                                                   \
	}
#define TILE_OPEN                                                                                                      \
	WINDOW_OPEN                                                                                                    \
	const int tiles = (N + TILE_COLUMNS - 1) / TILE_COLUMNS, part = get_group_id(1) / tiles;                       \
	const int i0 = get_group_id(0) * TILE_ROWS, j0 = get_group_id(1) % tiles * TILE_COLUMNS;                       \
	const int first = part * group_rows, terms = clamp(size.x * size.y * K - first, 0, group_rows);                \
                                                                                                                       \
	C = (__global stored *)((__global float *)C + (size_t)part * M * N);
#define A_OPEN                                                                                                         \
	int a_at[A_COPIES];                                                                                            \
	int3 tap = tap_at(first + a_k, K, size.x), corner[A_COPIES];                                                   \
                                                                                                                       \
	UNROLL for (int n = 0; n < A_COPIES; n++)                                                           \
	{                                                                                                              \
		const int i = a_row + n * (ITEMS / A_LINE);                                                            \
                                                                                                                       \
		corner[n] = place_at(i, out);                                                                          \
		corner[n].xy = corner[n].xy * stride - before;                                                         \
		corner[n].y = i < M ? corner[n].y : NOWHERE;                                                           \
	}                                                                                                              \
	TAP_BEGIN
#define A_FETCH(stage, k0)                                                                                             \
	UNROLL for (int n = 0; n < A_COPIES; n++)                                                           \
	{                                                                                                              \
		const bool is_inside = a_at[n] >= 0 && (k0) + a_k < terms;                                             \
                                                                                                                       \
		COPY_CHUNK(A_AT(stage, a_line + n * (ITEMS / A_LINE), a_chunk), A + (is_inside ? 8 * (size_t)a_at[n] : 0), \
			   is_inside ? 8 : 0);                                                                         \
		a_at[n] += a_at[n] < 0 ? 0 : DEPTH / 8;                                                                \
	}                                                                                                              \
	tap.z += DEPTH;                                                                                                \
	if (tap.z >= K) {                                                                                              \
		tap = tap_after(tap, 0, K, size.x);                                                                    \
		TAP_BEGIN                                                                                              \
	}
#define FINISH(x, i, j)                                                                                                \
	finish_four(x, i, j, C, M, N, epilogue, bias, mask, scale, threshold, layer, step, first_row, key_low, key_high);
#define A_ALONG_K          1
#define WGMMA_USED(size)   USE_wgmma_conv_##size
#define WGMMA_KERNEL(size) wgmma_conv_##size(GEMM_PARAMETERS, __global const struct window *window)
#include "wgmma_tiles.clh"

#undef A_ALONG_K
#undef FINISH
#undef A_FETCH
#undef A_OPEN
#undef TILE_OPEN
#undef TAP_BEGIN

/* ---- Gradients of kernel and bias: A [taps * channels + 1, positions] ----
 *
 * As in conv_tiled.cl; the row of ones is the first of a chunk, because taps * channels is a multiple of 8. */

#define KERNEL_PARAMETERS                                                                                              \
	__global const stored *X, __global const stored *DY, __global float *partial, int images, int chunk_positions, \
		int channels, int N, int tiles, __global const struct window *window

#define TILE_OPEN                                                                                                      \
	WINDOW_OPEN                                                                                                    \
	const int rows = size.x * size.y * channels, part = get_group_id(0) / tiles, first = part * chunk_positions;   \
	const int terms = clamp(images * out.x * out.y - first, 0, chunk_positions);                                   \
	const int i0 = get_group_id(0) % tiles * TILE_ROWS, j0 = get_group_id(1) * TILE_COLUMNS;                       \
	__global const stored *const B = DY;
#define A_OPEN                                                                                                         \
	const int3 tap = tap_at(a_row, channels, size.x);                                                              \
	const struct tap_row tap_row = { a_row < rows ? tap.x * dilation.x : NOWHERE, tap.y * dilation.y,              \
					 (tap.y * dilation.y * in.x + tap.x * dilation.x) * channels + tap.z };        \
	int3 place[A_COPIES];                                                                                          \
                                                                                                                       \
	UNROLL for (int n = 0; n < A_COPIES; n++) place[n] = place_at(first + a_k + n * (ITEMS / A_LINE), out);
#define A_FETCH(stage, k0)                                                                                             \
	UNROLL for (int n = 0; n < A_COPIES; n++)                                                           \
	{                                                                                                              \
		const int2 corner = place[n].xy * stride - before;                                                     \
		const long at = (((long)place[n].z * in.y + corner.y) * in.x + corner.x) * channels;                   \
		const int x = corner.x + tap_row.x, y = corner.y + tap_row.y, k = a_k + n * (ITEMS / A_LINE);          \
		__local ushort *const to = A_AT(stage, a_line + n * (ITEMS / A_LINE), a_chunk);                        \
		const bool is_term = (k0) + k < terms;                                                                 \
		const bool is_inside = is_term && tap_row.x >= 0 && x >= 0 && x < in.x && y >= 0 && y < in.y;          \
                                                                                                                       \
		if (a_row == rows)                                                                                     \
			vstore8((ushort8)(is_term ? SHORT_ONE : 0, 0, 0, 0, 0, 0, 0, 0), 0, to);                             \
		else                                                                                                   \
			COPY_CHUNK(to, is_inside ? X + at + tap_row.from : X, is_inside ? 8 : 0);                      \
		place[n] = place_after(place[n], DEPTH, out);                                                          \
	}
#define FINISH(x, i, j)                                                                                                \
	finish_four(x, i, j, (__global stored *)(partial + (size_t)part * (rows + 1) * N), rows + 1, N, EPILOGUE_WIDE, 0, \
		    0, 0, 0, 0, 0, 0, 0, 0);
#define A_ALONG_K          0
#define WGMMA_USED(size)   USE_wgmma_conv_kernel_##size
#define WGMMA_KERNEL(size) wgmma_conv_kernel_##size(KERNEL_PARAMETERS)
#include "wgmma_tiles.clh"

#undef A_ALONG_K
#undef FINISH
#undef A_FETCH
#undef A_OPEN
#undef TILE_OPEN
#undef KERNEL_PARAMETERS
#undef A_COPIES
#undef B_CHUNK
#undef B_WIDTH
#undef B_ALONG_K
#endif
