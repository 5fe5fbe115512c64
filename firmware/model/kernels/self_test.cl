/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether a device computes correctly: each work-group of 64 items sums x[i] * y[i] over its 64 elements, by a
 * tree in local memory. x, y: [groups * 64] whole numbers, small enough that every sum is exact; sums: [groups].
 * Reference: self_test.c, exact.
 */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void self_test(__global const float *x, __global const float *y,
								       __global float *sums)
{
	__local float tree[64];
	const size_t i = get_local_id(0);

	tree[i] = x[get_global_id(0)] * y[get_global_id(0)];
	for (size_t width = 32; width > 0; width /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (i < width)
			tree[i] += tree[i + width];
	}
	if (i == 0)
		sums[get_group_id(0)] = tree[0];
}
