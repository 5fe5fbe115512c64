/* SPDX-License-Identifier: Apache-2.0 */
#include "data/picture_filter.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ACROSS_SHIFT 8u  /* 14 bits of a weight, less the 6 that stay */
#define DOWN_SHIFT   20u /* 14 bits of a weight, and the 6 that stayed */

/* ---- Plain C ---- */

/* Makes the pixels of the result from pixel i on. */
static void across(const struct picture_axis *axis, uint32_t i, uint32_t pixel, uint32_t channels,
		   const uint8_t *line, int16_t *out)
{
	for (out += (uint64_t)i * channels; i < axis->key.to; i++) {
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
/* Pixels are loaded as R0 G0 B0 X0 R1 G1 B1 X1, and become the pairs R0 R1, G0 G1, B0 B1 and X0 X1 of 16
 * bits, which one instruction multiplies with a pair of weights and adds. PAIRS orders the bytes of two such
 * loads. */
#define PAIRS _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15)

/* Multiplies 4 pixels of 4 bytes with 4 weights: *weight has the pairs of both halves, one after the other.
 * Returns the sums of R, G, B and X of each half. */
__attribute__((target("avx2"))) static inline __m256i weigh4(__m128i pixels, __m256i weights)
{
	return _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_shuffle_epi8(pixels, PAIRS)), weights);
}

static inline __m128i load2(const uint8_t *line, uint32_t first)
{
	return _mm_loadl_epi64((const __m128i *)(line + (uint64_t)first * PICTURE_RGBX));
}

/* Makes pixels i and i + 2 of the result, of two pixels each. `weight`: those of pixel i. */
__attribute__((target("avx2"))) static inline __m256i two_of_two(const struct picture_axis *axis,
								 const uint8_t *line, uint32_t i)
{
	const __m128i pixels =
		_mm_unpacklo_epi64(load2(line, axis_first(axis, i)), load2(line, axis_first(axis, i + 2)));
	int low, high;

	memcpy(&low, axis_weights(axis, i), sizeof(low));
	memcpy(&high, axis_weights(axis, i + 2), sizeof(high));
	return weigh4(pixels, _mm256_setr_m128i(_mm_set1_epi32(low), _mm_set1_epi32(high)));
}

/* The filter where each pixel of the result is made of two: makes 4 of them at a time. Returns how many it
 * made. */
__attribute__((target("avx2"))) static uint32_t across_two(const struct picture_axis *axis,
							   const uint8_t *line, int16_t *out)
{
	const __m256i half = _mm256_set1_epi32(1 << (ACROSS_SHIFT - 1));
	const __m256i no_x = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1));
	uint32_t i = 0;

	for (; i + 4 <= axis->key.to; i += 4, out += 12) {
		const __m256i even = _mm256_add_epi32(half, two_of_two(axis, line, i)),
			      odd = _mm256_add_epi32(half, two_of_two(axis, line, i + 1)),
			      all = _mm256_shuffle_epi8(
				      _mm256_packs_epi32(_mm256_srai_epi32(even, ACROSS_SHIFT),
							 _mm256_srai_epi32(odd, ACROSS_SHIFT)),
				      no_x);

		_mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(all));
		_mm_storeu_si128((__m128i *)(out + 6), _mm256_extracti128_si256(all, 1));
	}
	return i;
}

/* Makes pixel i of the result, of any number of pixels, 4 at a time: the sums of both halves. */
__attribute__((target("avx2"))) static inline __m256i one_of_many(const struct picture_axis *axis,
								  const uint8_t *line, uint32_t i)
{
	const __m256i halves = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
	const uint8_t *from = line + (uint64_t)axis_first(axis, i) * PICTURE_RGBX;
	const int16_t *weight = axis_weights(axis, i);
	const uint32_t taps = axis_taps(axis, i);
	__m256i sums = _mm256_setzero_si256();

	for (uint32_t k = 0; k < taps; k += 4) {
		const __m128i four = _mm_loadl_epi64((const __m128i *)(weight + k));
		const __m256i weights = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), halves);

		sums = _mm256_add_epi32(
			sums, weigh4(_mm_loadu_si128((const __m128i *)(from + PICTURE_RGBX * k)), weights));
	}
	return sums;
}

/* The filter of any number of pixels: makes 2 at a time. Returns how many it made. */
__attribute__((target("avx2"))) static uint32_t across_many(const struct picture_axis *axis,
							    const uint8_t *line, int16_t *out)
{
	const __m256i half = _mm256_set1_epi32(1 << (ACROSS_SHIFT - 1));
	uint32_t i = 0;

	for (; i + 2 <= axis->key.to; i += 2, out += 6) {
		const __m256i a = one_of_many(axis, line, i), b = one_of_many(axis, line, i + 1);
		__m256i both = _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
						_mm256_permute2x128_si256(a, b, 0x31));

		both = _mm256_srai_epi32(_mm256_add_epi32(both, half), ACROSS_SHIFT);
		both = _mm256_packs_epi32(both, both);
		_mm_storel_epi64((__m128i *)out,
				 _mm256_castsi256_si128(both)); /* the next pixel replaces X */
		_mm_storel_epi64((__m128i *)(out + 3), _mm256_extracti128_si256(both, 1));
	}
	return i;
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

/* Copies 4 pixels at a time, and writes 16 bytes for their 12. Returns how many pixels it copied. */
__attribute__((target("avx2"))) static uint32_t copy_avx2(const uint8_t *line, uint32_t pixels, uint8_t *out)
{
	const __m128i no_x = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
	uint32_t i = 0;

	for (; i + 6 <= pixels; i += 4)
		_mm_storeu_si128(
			(__m128i *)(out + 3 * (uint64_t)i),
			_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(line + 4 * (uint64_t)i)), no_x));
	return i;
}
#endif

/* ---- Either ---- */

void picture_copy(enum picture_pixel pixel, const uint8_t *line, uint32_t pixels, bool simd,
		  uint8_t *ret_line)
{
	uint32_t i = 0;

	if (pixel == PICTURE_GRAY) {
		memcpy(ret_line, line, pixels);
		return;
	}
#ifdef __x86_64__
	if (simd)
		i = copy_avx2(line, pixels, ret_line);
#else
	(void)simd;
#endif
	for (; i < pixels; i++)
		memcpy(ret_line + 3 * (uint64_t)i, line + PICTURE_RGBX * (uint64_t)i, 3);
}

void picture_across(const struct picture_axis *axis, enum picture_pixel pixel, const uint8_t *line, bool simd,
		    int16_t *ret_columns)
{
	uint32_t made = 0;

#ifdef __x86_64__
	if (simd && pixel == PICTURE_RGBX)
		made = axis->two_taps ? across_two(axis, line, ret_columns)
				      : across_many(axis, line, ret_columns);
#else
	(void)simd;
#endif
	if (pixel == PICTURE_RGBX)
		across(axis, made, PICTURE_RGBX, 3, line, ret_columns);
	else
		across(axis, 0, PICTURE_GRAY, 1, line, ret_columns);
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
