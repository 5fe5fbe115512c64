/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the metrics of metrics.h: each adds a row to its own sums, and makes its value of them. Pure
 * functions. */
#pragma once

#include "model/learn/metrics.h"

#define METRIC_CUT 0.5 /* default threshold of Keras's Precision, Recall and BinaryAccuracy */

/* One row of the data, in the form in which the metrics of the table read it. */
struct seen {
	const struct metrics_shape *shape;
	const float *p;
	const double *y;       /* the label: 0 or 1 for each output, or a number for each output */
	uint64_t wanted, best; /* class of the label; predicted class */
	double weight;
};

struct metric {
	const char *name; /* NULL: the metric is not a single value */
	unsigned kinds;
	bool top_k; /* the metric needs model.top_k */
	uint64_t (*sums)(
		const struct metrics_shape *shape); /* how many sums the metric has; 0 before the first row */
	void (*add)(const struct seen *seen, double *sum);
	double (*value)(const double *sum);
};

/* The last one is the confusion matrix. */
extern const struct metric metric_table[];
extern const uint32_t metric_count;

/* Returns the number of classes: of one output, which means yes or no, 2. */
uint64_t metric_classes(const struct metrics_shape *shape);
