/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/metric_table.h"

#include <math.h>

#define THRESHOLDS 200u /* keras.metrics.AUC's default */

static uint64_t two(const struct metrics_shape *shape)
{
	(void)shape;
	return 2;
}

/* Divides; x / 0 is 0, as in divide_no_nan() of Keras. */
static double share(double counted, double whole)
{
	return whole != 0 ? counted / whole : 0;
}

static double mean(const double *sum)
{
	return share(sum[0], sum[1]);
}

/* ---- Means over rows ---- */

static void accuracy(const struct seen *seen, double *sum)
{
	sum[0] += seen->best == seen->wanted ? seen->weight : 0;
	sum[1] += seen->weight;
}

/* Counts a hit if the wanted class is among the k most probable classes: if fewer than k classes have a
 * greater probability. */
static void top_k(const struct seen *seen, double *sum)
{
	uint64_t above = 0;

	for (uint64_t c = 0; c < seen->shape->outputs; c++)
		above += seen->p[c] > seen->p[seen->wanted];
	sum[0] += above < seen->shape->top_k ? seen->weight : 0;
	sum[1] += seen->weight;
}

static void binary_accuracy(const struct seen *seen, double *sum)
{
	uint64_t right = 0;

	for (uint64_t i = 0; i < seen->shape->outputs; i++)
		right += ((double)seen->p[i] > METRIC_CUT ? 1.0 : 0.0) == seen->y[i];
	sum[0] += seen->weight * (double)right / (double)seen->shape->outputs;
	sum[1] += seen->weight;
}

static void squared_error(const struct seen *seen, double *sum)
{
	double square = 0;

	for (uint64_t i = 0; i < seen->shape->outputs; i++)
		square += ((double)seen->p[i] - seen->y[i]) * ((double)seen->p[i] - seen->y[i]);
	sum[0] += seen->weight * square / (double)seen->shape->outputs;
	sum[1] += seen->weight;
}

static void absolute_error(const struct seen *seen, double *sum)
{
	double error = 0;

	for (uint64_t i = 0; i < seen->shape->outputs; i++)
		error += fabs((double)seen->p[i] - seen->y[i]);
	sum[0] += seen->weight * error / (double)seen->shape->outputs;
	sum[1] += seen->weight;
}

/* ---- R2: the share of the label's variance that the predictions explain. sum[0]: outputs; sum[1]: weights;
 * then for each output the mean of y, the sum of (y - mean)^2 and that of the squared error. The first two
 * are updated row by row (Welford, 1962): a difference of sum y^2 and (sum y)^2 would lose the variance of a
 * label that is far from 0 ---- */

static uint64_t three_by_output(const struct metrics_shape *shape)
{
	return 2 + 3 * shape->outputs;
}

static void variances(const struct seen *seen, double *sum)
{
	sum[0] = (double)seen->shape->outputs;
	sum[1] += seen->weight;
	for (uint64_t i = 0; i < seen->shape->outputs; i++) {
		const double y = seen->y[i], error = (double)seen->p[i] - y, from_mean = y - sum[2 + 3 * i];

		sum[2 + 3 * i] += from_mean * share(seen->weight, sum[1]);
		sum[3 + 3 * i] += seen->weight * from_mean * (y - sum[2 + 3 * i]);
		sum[4 + 3 * i] += seen->weight * error * error;
	}
}

/* Returns the mean over the outputs. An output whose label never changes counts 0. */
static double r2(const double *sum)
{
	const uint64_t outputs = (uint64_t)sum[0];
	double total = 0;

	for (uint64_t i = 0; i < outputs; i++) {
		const double variance = sum[3 + 3 * i], error = sum[4 + 3 * i];

		total += variance > 0 ? 1 - error / variance : 0;
	}
	return share(total, (double)outputs);
}

static double root_of_mean(const double *sum)
{
	return sqrt(mean(sum));
}

/* ---- Precision and recall: is p above METRIC_CUT? ---- */

/* Returns the first output that counts for metrics of yes and no: where a row is of one of two classes, the
 * metrics are those of the second class; else every output counts. */
static uint64_t first_counted(const struct metrics_shape *shape)
{
	return shape->kind == METRICS_CLASSES && shape->outputs == 2 ? 1 : 0;
}

static void precision(const struct seen *seen, double *sum)
{
	for (uint64_t i = first_counted(seen->shape); i < seen->shape->outputs; i++)
		if ((double)seen->p[i] > METRIC_CUT) {
			sum[0] += seen->y[i] != 0 ? seen->weight : 0;
			sum[1] += seen->weight;
		}
}

static void recall(const struct seen *seen, double *sum)
{
	for (uint64_t i = first_counted(seen->shape); i < seen->shape->outputs; i++)
		if (seen->y[i] != 0) {
			sum[0] += (double)seen->p[i] > METRIC_CUT ? seen->weight : 0;
			sum[1] += seen->weight;
		}
}

/* ---- F1: the harmonic mean of precision and recall of an output, and of these the mean over the outputs, as
 * Keras's F1Score with average "macro". A row of one of several classes is predicted to be of the most
 * probable one. Of two classes the second alone counts, which Keras's F1Score does not do. sum[0]: outputs
 * that count; then for each the weights of rows that are predicted and wanted, of those that are predicted,
 * and of those that are wanted ---- */

static uint64_t one_and_three_by_output(const struct metrics_shape *shape)
{
	return 1 + 3 * (shape->outputs - first_counted(shape));
}

static bool is_predicted(const struct seen *seen, uint64_t output)
{
	return seen->shape->kind == METRICS_CLASSES && seen->shape->outputs > 1
		       ? output == seen->best
		       : (double)seen->p[output] > METRIC_CUT;
}

static void hits(const struct seen *seen, double *sum)
{
	const uint64_t first = first_counted(seen->shape);

	sum[0] = (double)(seen->shape->outputs - first);
	for (uint64_t i = first; i < seen->shape->outputs; i++) {
		double *hit = sum + 1 + 3 * (i - first);
		const double predicted = is_predicted(seen, i) ? seen->weight : 0;

		hit[0] += seen->y[i] != 0 ? predicted : 0;
		hit[1] += predicted;
		hit[2] += seen->y[i] != 0 ? seen->weight : 0;
	}
}

static double f1(const double *sum)
{
	const uint64_t outputs = (uint64_t)sum[0];
	double total = 0;

	for (uint64_t i = 0; i < outputs; i++) {
		const double *hit = sum + 1 + 3 * i;

		total += share(2 * hit[0], hit[1] + hit[2]);
	}
	return share(total, (double)outputs);
}

/* ---- Areas under curves. sum[t]: weights of the true ones whose p is above threshold t and no later one;
 * sum[THRESHOLDS + t]: weights of the false ones ---- */

static uint64_t two_by_threshold(const struct metrics_shape *shape)
{
	(void)shape;
	return UINT64_C(2) * THRESHOLDS;
}

/* For each output, adds the weight of the row at the highest threshold that p is above. Keras's thresholds
 * are i / 199, except that the first is -1e-7 and the last 1 + 1e-7, so that p = 0 is above the first
 * threshold and p = 1 is not above the last. */
static void by_threshold(const struct seen *seen, double *sum)
{
	for (uint64_t i = first_counted(seen->shape); i < seen->shape->outputs; i++) {
		const float p = fminf(fmaxf(seen->p[i], 0), 1);
		const float bucket = ceilf(p * (float)(THRESHOLDS - 1)) - 1;

		sum[(seen->y[i] != 0 ? 0 : THRESHOLDS) + (bucket > 0 ? (uint32_t)bucket : 0)] += seen->weight;
	}
}

/* Sets positive[t] to the sum of the weights of all rows whose p is above threshold t. */
static void cumulate(const double *sum, double positive[static THRESHOLDS])
{
	double total = 0;

	for (uint32_t t = THRESHOLDS; t-- > 0;)
		positive[t] = total += sum[t];
}

static double auc(const double *sum)
{
	double true_positive[THRESHOLDS], false_positive[THRESHOLDS], area = 0;

	cumulate(sum, true_positive);
	cumulate(sum + THRESHOLDS, false_positive);
	for (uint32_t t = 0; t + 1 < THRESHOLDS; t++)
		area += share(false_positive[t] - false_positive[t + 1], false_positive[0]) *
			share(true_positive[t] + true_positive[t + 1], true_positive[0]) / 2;
	return area;
}

/* Returns the area under the curve of precision as a function of recall. Between two thresholds true and
 * false positives are interpolated linearly (Davis and Goadrich, 2006). */
static double auc_of_precision(const double *sum)
{
	double true_positive[THRESHOLDS], false_positive[THRESHOLDS], area = 0;

	cumulate(sum, true_positive);
	cumulate(sum + THRESHOLDS, false_positive);
	for (uint32_t t = 0; t + 1 < THRESHOLDS; t++) {
		const double from = true_positive[t] + false_positive[t],
			     to = true_positive[t + 1] + false_positive[t + 1],
			     gained = true_positive[t] - true_positive[t + 1],
			     slope = share(gained, fmax(from - to, 0)),
			     intercept = true_positive[t + 1] - slope * to,
			     ratio = from > 0 && to > 0 ? from / to : 1;

		area += share(slope * (gained + intercept * log(ratio)), true_positive[0]);
	}
	return area;
}

/* ---- The confusion matrix ---- */

uint64_t metric_classes(const struct metrics_shape *shape)
{
	return shape->outputs == 1 ? 2 : shape->outputs;
}

static uint64_t classes_squared(const struct metrics_shape *shape)
{
	const uint64_t classes = metric_classes(shape);

	return classes <= METRICS_CONFUSION_MAX ? classes * classes : 0;
}

static void confusion(const struct seen *seen, double *sum)
{
	if (classes_squared(seen->shape))
		sum[seen->wanted * metric_classes(seen->shape) + seen->best] += seen->weight;
}

/* ---- The table ---- */

#define CLASSES METRICS_CLASSES
#define LABELS  METRICS_LABELS
#define NUMBERS METRICS_NUMBERS
const struct metric metric_table[] = {
	{ "accuracy", CLASSES, false, two, accuracy, mean },
	{ "binary_accuracy", LABELS, false, two, binary_accuracy, mean },
	{ "top_k_accuracy", CLASSES, true, two, top_k, mean },
	{ "precision", CLASSES | LABELS, false, two, precision, mean },
	{ "recall", CLASSES | LABELS, false, two, recall, mean },
	{ "f1_score", CLASSES | LABELS, false, one_and_three_by_output, hits, f1 },
	{ "auc", CLASSES | LABELS, false, two_by_threshold, by_threshold, auc },
	{ "auc_precision_recall", CLASSES | LABELS, false, two_by_threshold, by_threshold, auc_of_precision },
	{ "mean_squared_error", NUMBERS, false, two, squared_error, mean },
	{ "root_mean_squared_error", NUMBERS, false, two, squared_error, root_of_mean },
	{ "mean_absolute_error", NUMBERS, false, two, absolute_error, mean },
	{ "r2_score", NUMBERS, false, three_by_output, variances, r2 },
	{ NULL, CLASSES, false, classes_squared, confusion, NULL },
};
const uint32_t metric_count = sizeof(metric_table) / sizeof(*metric_table);
_Static_assert(sizeof(metric_table) / sizeof(*metric_table) <= METRICS_VALUES_MAX,
	       "a caller's array holds the value of every metric");
