/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TensorBoard's histograms show: how values spread over HISTOGRAM_BUCKETS buckets of one width, exactly
 * as tf.summary.histogram counts them (tensorboard/plugins/histogram/summary_v2.py, _buckets()). A pure
 * function, two passes over the values, no allocation.
 */
#pragma once

#include <stdint.h>

#define HISTOGRAM_BUCKETS 30u

/* One row of the tensor [HISTOGRAM_BUCKETS, 3]. */
struct histogram_bucket {
	double left, right, count;
};

/* Of float32 values that are finite. Values that are all equal are counted in the last bucket, and all edges
 * are that value; without values everything is 0. */
void histogram_of(const float *values, uint64_t count, struct histogram_bucket ret[static HISTOGRAM_BUCKETS]);
