/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 16 bits: bfloat16 and IEEE binary16 (float16). */
#pragma once

#include "model/graph/graph.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Converts a number of float16. */
static inline float half_float(uint16_t half)
{
	const int exponent = half >> 10 & 31, fraction = half & 1023;
	double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);

	if (exponent == 31)
		value = fraction ? (double)NAN : (double)INFINITY;
	return (float)(half & 0x8000 ? -value : value);
}

/* Converts a number of BF16 or F16. */
static inline float short_float(enum dtype dtype, uint16_t stored)
{
	const uint32_t bits = (uint32_t)stored << 16;
	float x;

	if (dtype == DTYPE_F16)
		return half_float(stored);
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Returns x, between -65504 and 65504, in BF16 or F16: the bits that do not fit are cut off, and a number
 * below the normal ones of float16 becomes 0. */
static inline uint16_t short_bits(enum dtype dtype, float x)
{
	const uint32_t least_half = 113u << 23, exponents_apart = 112u << 23;
	uint32_t bits, magnitude;

	memcpy(&bits, &x, sizeof(bits));
	if (dtype == DTYPE_BF16)
		return (uint16_t)(bits >> 16);
	magnitude = bits & 0x7fffffffu;
	return (uint16_t)((bits >> 16 & 0x8000u) |
			  (magnitude < least_half ? 0 : (magnitude - exponents_apart) >> 13));
}

/* Returns the number of bfloat16 that is nearest to x; of two that are equally near, the one with an even
 * last bit. */
static inline float nearest_bfloat16(float x)
{
	const int significant_bits = 8, least_exponent = -133;
	double spacing, rounded;
	int exponent;

	if (!isfinite(x))
		return x;
	(void)frexp((double)x, &exponent);
	exponent -= significant_bits;
	spacing = ldexp(1, exponent < least_exponent ? least_exponent : exponent);
	rounded = nearbyint((double)x / spacing) * spacing;
	return fabs(rounded) < 0x1p128 ? (float)rounded : copysignf(INFINITY, x);
}
