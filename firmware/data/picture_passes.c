/* SPDX-License-Identifier: Apache-2.0 */
#include "data/picture_filter.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ACROSS_SHIFT 8u  /* 14 bits of a weight, less the 6 that stay */
#define DOWN_SHIFT   20u /* 14 bits of a weight, and the 6 that stayed */

/* ---- Plain C ---- */

static void across(const struct picture_axis *axis, uint32_t pixel, uint32_t channels, const uint8_t *line,
		   int16_t *out)
{
	for (uint32_t i = 0; i < axis->key.to; i++) {
		const uint8_t *from = line + (uint64_t)axis_first(axis, i) * pixel;
		const int16_t *weight = axis_weights(axis, i);

		for (uint32_t c = 0; c < channels; c++) {
			int32_t sum = 1 << (ACROSS_SHIFT - 1);

			for (uint32_t k = 0; k < axis_taps(axis, i); k++)
				sum += from[k * pixel + c] * weight[k];
			*out++ = (int16_t)(sum >> ACROSS_SHIFT);
		}
	}
}

static void down(const int16_t *weight, uint32_t taps, const int16_t *const *line, uint64_t from,
		 uint64_t end, uint8_t *out)
{
	for (uint64_t x = from; x < end; x++) {
		int32_t sum = 1 << (DOWN_SHIFT - 1);

		for (uint32_t k = 0; k < taps; k++)
			sum += line[k][x] * weight[k];
		sum >>= DOWN_SHIFT;
		out[x] = (uint8_t)(sum < 0 ? 0 : sum > UINT8_MAX ? UINT8_MAX : sum);
	}
}

/* ---- Vectors of x86-64 ---- */

#ifdef __x86_64__
/* Two neighbouring pixels are loaded as R0 G0 B0 X0 R1 G1 B1 X1, and become the 16-bit pairs R0 R1, G0 G1, B0
 * B1 and X0 X1, which one instruction multiplies with a pair of weights and adds. */
__attribute__((target("avx2"))) static void across_rgbx(const struct picture_axis *axis, const uint8_t *line,
							int16_t *out)
{
	const __m128i pairs = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1),
		      half = _mm_set1_epi32(1 << (ACROSS_SHIFT - 1));

	for (uint32_t i = 0; i < axis->key.to; i++, out += 3) {
		const uint8_t *from = line + (uint64_t)axis_first(axis, i) * PICTURE_RGBX;
		const int16_t *weight = axis_weights(axis, i);
		const uint32_t taps = axis_taps(axis, i);
		__m128i sum = half;

		for (uint32_t k = 0; k < taps; k += 2) {
			const __m128i two = _mm_shuffle_epi8(
				_mm_loadl_epi64((const __m128i *)(from + (uint64_t)k * PICTURE_RGBX)), pairs);
			int both;

			memcpy(&both, weight + k, sizeof(both));
			sum = _mm_add_epi32(sum, _mm_madd_epi16(two, _mm_set1_epi32(both)));
		}
		sum = _mm_srai_epi32(sum, ACROSS_SHIFT);
		_mm_storel_epi64((__m128i *)out, _mm_packs_epi32(sum, sum)); /* the next pixel replaces X */
	}
}

/* Makes 32 values at a time; the rest is left to down(). Returns where it ended. */
__attribute__((target("avx2"))) static uint64_t
down_avx2(const int16_t *weight, uint32_t taps, const int16_t *const *line, uint64_t columns, uint8_t *out)
{
	const __m256i half = _mm256_set1_epi32(1 << (DOWN_SHIFT - 1));
	uint64_t x = 0;

	for (; x + 32 <= columns; x += 32) {
		__m256i sum[4] = { half, half, half, half }, low, high;

		for (uint32_t k = 0; k < taps; k += 2) {
			int both;

			memcpy(&both, weight + k, sizeof(both));
			for (unsigned h = 0; h < 2; h++) {
				const __m256i a = _mm256_loadu_si256((const __m256i *)(line[k] + x + 16 * h)),
					      b = _mm256_loadu_si256(
						      (const __m256i *)(line[k + 1] + x + 16 * h)),
					      w = _mm256_set1_epi32(both);

				sum[2 * h] = _mm256_add_epi32(
					sum[2 * h], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
				sum[2 * h + 1] = _mm256_add_epi32(
					sum[2 * h + 1], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));
			}
		}
		low = _mm256_packs_epi32(_mm256_srai_epi32(sum[0], DOWN_SHIFT),
					 _mm256_srai_epi32(sum[1], DOWN_SHIFT));
		high = _mm256_packs_epi32(_mm256_srai_epi32(sum[2], DOWN_SHIFT),
					  _mm256_srai_epi32(sum[3], DOWN_SHIFT));
		_mm256_storeu_si256((__m256i *)(out + x),
				    _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8));
	}
	return x;
}
#endif

/* ---- Either ---- */

void picture_across(const struct picture_axis *axis, enum picture_pixel pixel, const uint8_t *line, bool simd,
		    int16_t *ret_columns)
{
#ifdef __x86_64__
	if (simd && pixel == PICTURE_RGBX) {
		across_rgbx(axis, line, ret_columns);
		return;
	}
#else
	(void)simd;
#endif
	if (pixel == PICTURE_RGBX)
		across(axis, PICTURE_RGBX, 3, line, ret_columns);
	else
		across(axis, PICTURE_GRAY, 1, line, ret_columns);
}

void picture_down(const struct picture_axis *axis, uint32_t i, const int16_t *const *line, uint64_t columns,
		  bool simd, uint8_t *ret_line)
{
	uint64_t from = 0;

#ifdef __x86_64__
	if (simd)
		from = down_avx2(axis_weights(axis, i), axis_taps(axis, i), line, columns, ret_line);
#else
	(void)simd;
#endif
	down(axis_weights(axis, i), axis_taps(axis, i), line, from, columns, ret_line);
}
