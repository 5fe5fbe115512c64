/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of row_hit, which the losses write and the metrics read; and the test for invalid labels. */

#define ROW_HIT   1
#define ROW_TOP   2
#define ROW_WRONG 4

/* Returns whether number e of a label is not within 0 .. limit - 1. A float is tested by its bits, so that a NaN is
 * invalid and -0 is valid. */
bool is_wrong_label(__global const long *whole, __global const float *real, size_t e, int limit)
{
	const uint bits = whole ? 0 : as_uint(real[e]);

	return whole ? whole[e] < 0 || whole[e] >= limit : bits > as_uint((float)(limit - 1)) && bits != 0x80000000u;
}
