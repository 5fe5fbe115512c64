/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/ranks/sum.h"

#define BLOCK 1024u /* floats: those of 8 ranks are in a first-level cache of 32 KiB */
#define WIDE  4u    /* floats: what one instruction of every x86-64 and ARMv8 processor adds */

typedef float wide __attribute__((vector_size(WIDE * sizeof(float)), aligned(sizeof(float)), may_alias));

static void add(float *out, const float *a, const float *b, size_t count)
{
	size_t i = 0;

#pragma GCC unroll 4
	for (; i + WIDE <= count; i += WIDE)
		*(wide *)&out[i] = *(const wide *)&a[i] + *(const wide *)&b[i];
	for (; i < count; i++)
		out[i] = a[i] + b[i];
}

static void sum_block(float *const *in, uint32_t world, float *out, size_t first, size_t count)
{
	for (uint32_t step = 1; step < world; step *= 2) {
		for (uint32_t i = 0; i + step < world; i += 2 * step) {
			float *sum = 2 * step < world ? in[i] : out;

			add(&sum[first], &in[i][first], &in[i + step][first], count);
		}
	}
}

void sum_tree(float *const *in, uint32_t world, float *out, size_t count)
{
	for (size_t first = 0; first < count; first += BLOCK)
		sum_block(in, world, out, first, count - first < BLOCK ? count - first : BLOCK);
}
