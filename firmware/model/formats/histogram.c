/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/histogram.h"

#include <string.h>

static void bounds(const float *values, uint64_t count, double *ret_least, double *ret_most)
{
	float least = values[0], most = values[0];

	for (uint64_t i = 1; i < count; i++) {
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	*ret_least = (double)least;
	*ret_most = (double)most;
}

void histogram_of(const float *values, uint64_t count, struct histogram_bucket ret[static HISTOGRAM_BUCKETS])
{
	const uint32_t last = HISTOGRAM_BUCKETS - 1;
	double least, most, width;

	memset(ret, 0, HISTOGRAM_BUCKETS * sizeof(*ret));
	if (count == 0)
		return;
	bounds(values, count, &least, &most);
	width = (most - least) / HISTOGRAM_BUCKETS;
	/* tf.linspace: the first edge, then steps of the same width from it; the last edge is exact. */
	for (uint32_t i = 0; i <= last; i++) {
		ret[i].left = least + width * i;
		ret[i].right = i == last ? most : least + width * (i + 1);
	}
	if (most == least) {
		ret[last].count = (double)count;
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		const double offset = ((double)values[i] - least) / width;

		ret[offset < last ? (uint32_t)offset : last].count++;
	}
}
