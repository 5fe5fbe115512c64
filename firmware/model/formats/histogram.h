/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms for TensorBoard: counts values in HISTOGRAM_BUCKETS buckets of equal width, exactly like
 * tf.summary.histogram (tensorboard/plugins/histogram/summary_v2.py, _buckets()). A pure function, two passes
 * over the values, no allocation.
 */
#pragma once

#include <stdint.h>

#define HISTOGRAM_BUCKETS 30u

/* A row of the tensor [HISTOGRAM_BUCKETS, 3]. */
struct histogram_bucket {
	double left, right, count;
};

/* Counts finite values. If all are equal, they count in the last bucket and every edge is that value. Without
 * values all results are 0. */
void histogram_of(const float *values, uint64_t count, struct histogram_bucket ret[static HISTOGRAM_BUCKETS]);
