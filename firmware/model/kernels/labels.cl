/* SPDX-License-Identifier: Apache-2.0 */
/* What losses say of a row, and metrics read: row_hit, and which labels are none. */

#define ROW_HIT   1
#define ROW_TOP   2
#define ROW_WRONG 4

/* Whether number e of a label is not within 0 .. limit - 1: by a float's bits, so that NaN is not, and -0 is. */
bool is_wrong_label(__global const long *whole, __global const float *real, size_t e, int limit)
{
	const uint bits = whole ? 0 : as_uint(real[e]);

	return whole ? whole[e] < 0 || whole[e] >= limit : bits > as_uint((float)(limit - 1)) && bits != 0x80000000u;
}
