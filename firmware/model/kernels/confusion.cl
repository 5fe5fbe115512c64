/* SPDX-License-Identifier: Apache-2.0 */
/* The confusion matrix. Work-group: 16 rows, one item for each. Integers: every order gives the same sum. */

/* Returns the class that the network chooses, by the first of the largest outputs; with one output 1 where the logit is
 * above 0. */
int chosen_class(__global const stored *z, int outputs)
{
	int best = 0;

	if (outputs == 1)
		return load(0, z) > 0;
	for (int c = 1; c < outputs; c++)
		best = load(c, z) > load(best, z) ? c : best;
	return best;
}

/* counts[label, choice] += the rows of the batch with this label and this choice, [classes, classes]; one output has two
 * classes. A row that is empty or has an invalid label (row_hit) does not count. */
ROWS confusion(__global const stored *z, __global const long *whole, __global const float *real, int by_class,
	       __global const uchar *empty, __global const uint *row_hit, __global uint *counts, int rows, int outputs)
{
	const size_t r = get_global_id(0);
	const int classes = max(2, outputs);

	if (r >= rows || is_empty(empty, r) || (row_hit[r] & ROW_WRONG))
		return;
	atomic_inc(&counts[wanted_class(whole, real, by_class, r, outputs) * classes +
			   chosen_class(z + r * outputs, outputs)]);
}
