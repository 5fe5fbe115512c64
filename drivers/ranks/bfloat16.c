/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/bfloat16.h"

#define WIDE 4u /* values: what one instruction of every x86-64 and ARMv8 processor takes as float32 */

/* Bits of float32 and of bfloat16. They may alias the values, which are aligned as one value is. */
typedef uint32_t one __attribute__((may_alias));
typedef uint32_t bits __attribute__((vector_size(WIDE * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef uint16_t halves
	__attribute__((vector_size(WIDE * sizeof(uint16_t)), aligned(sizeof(uint16_t)), may_alias));
typedef int32_t signed_bits __attribute__((vector_size(WIDE * sizeof(float))));

#define MAGNITUDE 0x7fffffffu
#define INFINITE  0x7f800000 /* a larger magnitude is NaN */
#define QUIET     0x00400000u
#define UPPER     0xffff0000u

/* Rounds to the upper half. Adding a little less than half of its last bit, or half where that bit is set,
 * carries into it exactly where the value is to be rounded up. The carry may reach the exponent, up to that
 * of infinity. */
static bits nearest(bits x)
{
	const bits is_nan = (bits)((signed_bits)(x & MAGNITUDE) > INFINITE);
	const bits rounded = x + 0x7fffu + (x >> 16 & 1u);

	return ((rounded & ~is_nan) | ((x | QUIET) & is_nan)) & UPPER;
}

static halves narrow(bits x)
{
	return __builtin_convertvector(nearest(x) >> 16, halves);
}

static bits widen(halves x)
{
	return __builtin_convertvector(x, bits) << 16;
}

void bfloat16_narrow(uint16_t *out, const float *in, size_t count)
{
	size_t i = 0;

#pragma GCC unroll 4
	for (; i + WIDE <= count; i += WIDE)
		*(halves *)&out[i] = narrow(*(const bits *)&in[i]);
	for (; i < count; i++)
		out[i] = narrow((bits){ *(const one *)&in[i] })[0];
}

void bfloat16_widen(float *out, const uint16_t *in, size_t count)
{
	size_t i = 0;

#pragma GCC unroll 4
	for (; i + WIDE <= count; i += WIDE)
		*(bits *)&out[i] = widen(*(const halves *)&in[i]);
	for (; i < count; i++)
		*(one *)&out[i] = widen((halves){ in[i] })[0];
}

void bfloat16_round(float *out, const float *in, size_t count)
{
	size_t i = 0;

#pragma GCC unroll 4
	for (; i + WIDE <= count; i += WIDE)
		*(bits *)&out[i] = nearest(*(const bits *)&in[i]);
	for (; i < count; i++)
		*(one *)&out[i] = nearest((bits){ *(const one *)&in[i] })[0];
}
