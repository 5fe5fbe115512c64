/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/metrics.h"

#include "model/learn/losses.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define THRESHOLDS 200u /* keras.metrics.AUC's default */
#define CUT        0.5  /* default threshold of Keras's Precision, Recall and BinaryAccuracy */

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
	uint64_t (*sums)(const struct metrics_shape *shape);
	void (*add)(const struct seen *seen, double *sum);
	double (*value)(const double *sum);
};

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
		right += ((double)seen->p[i] > CUT ? 1.0 : 0.0) == seen->y[i];
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

/* ---- Precision and recall over every output of every row: is p above CUT? ---- */

static void precision(const struct seen *seen, double *sum)
{
	for (uint64_t i = 0; i < seen->shape->outputs; i++)
		if ((double)seen->p[i] > CUT) {
			sum[0] += seen->y[i] != 0 ? seen->weight : 0;
			sum[1] += seen->weight;
		}
}

static void recall(const struct seen *seen, double *sum)
{
	for (uint64_t i = 0; i < seen->shape->outputs; i++)
		if (seen->y[i] != 0) {
			sum[0] += (double)seen->p[i] > CUT ? seen->weight : 0;
			sum[1] += seen->weight;
		}
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
	for (uint64_t i = 0; i < seen->shape->outputs; i++) {
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

static uint64_t classes_of(const struct metrics_shape *shape)
{
	return shape->outputs == 1 ? 2 : shape->outputs;
}

static uint64_t classes_squared(const struct metrics_shape *shape)
{
	const uint64_t classes = classes_of(shape);

	return classes <= METRICS_CONFUSION_MAX ? classes * classes : 0;
}

static void confusion(const struct seen *seen, double *sum)
{
	if (classes_squared(seen->shape))
		sum[seen->wanted * classes_of(seen->shape) + seen->best] += seen->weight;
}

/* ---- The table ---- */

#define CLASSES METRICS_CLASSES
#define LABELS  METRICS_LABELS
#define NUMBERS METRICS_NUMBERS
static const struct metric table[] = {
	{ "accuracy", CLASSES, false, two, accuracy, mean },
	{ "binary_accuracy", LABELS, false, two, binary_accuracy, mean },
	{ "top_k_accuracy", CLASSES, true, two, top_k, mean },
	{ "precision", CLASSES | LABELS, false, two, precision, mean },
	{ "recall", CLASSES | LABELS, false, two, recall, mean },
	{ "auc", CLASSES | LABELS, false, two_by_threshold, by_threshold, auc },
	{ "auc_precision_recall", CLASSES | LABELS, false, two_by_threshold, by_threshold, auc_of_precision },
	{ "mean_squared_error", NUMBERS, false, two, squared_error, mean },
	{ "mean_absolute_error", NUMBERS, false, two, absolute_error, mean },
	{ NULL, CLASSES, false, classes_squared, confusion, NULL },
};
#define METRICS (sizeof(table) / sizeof(*table))
_Static_assert(METRICS <= METRICS_VALUES_MAX, "a caller's array holds the value of every metric");

struct metrics {
	struct metrics_shape shape;
	uint64_t rows; /* rows of all batches, including those that do not count */
	double *y;     /* the label of the current row */
	double *sum[METRICS];
};

static bool goes_with(const struct metric *metric, const struct metrics_shape *shape)
{
	return (metric->kinds & shape->kind) && (!metric->top_k || (shape->top_k && shape->outputs > 1));
}

struct metrics_shape metrics_shape_of(const struct config *config, uint64_t outputs)
{
	const struct loss *loss = loss_find(config->model.loss);
	struct metrics_shape shape = { .outputs = outputs,
				       .label_elements = 1,
				       .top_k = config->model.top_k };

	for (uint32_t i = 0; i < config->features; i++) {
		const struct config_feature *feature = &config->feature[i];

		if (strcmp(feature->name, config->model.label) != 0)
			continue;
		shape.label_dtype = feature->dtype;
		for (uint32_t d = 0; d < feature->rank; d++)
			shape.label_elements *= feature->shape[d];
	}
	shape.kind = loss ? loss->kind : METRICS_NUMBERS;
	if (shape.kind == METRICS_LABELS && outputs == 1)
		shape.kind = METRICS_CLASSES;
	return shape;
}

int metrics_open(const struct metrics_shape *shape, struct metrics **ret_metrics, struct error *err)
{
	CLEANUP(metrics_closep) struct metrics *metrics = calloc(1, sizeof(*metrics));
	bool whole = metrics;

	if (metrics) {
		metrics->shape = *shape;
		metrics->y = calloc(shape->outputs, sizeof(*metrics->y));
		whole = metrics->y;
	}
	for (size_t m = 0; whole && m < METRICS; m++) {
		metrics->sum[m] = calloc(table[m].sums(shape) + 1, sizeof(double));
		whole = metrics->sum[m];
	}
	if (!whole)
		return error_set(err, -ENOMEM, "metrics of %" PRIu64 " outputs: no memory", shape->outputs);
	*ret_metrics = TAKE(metrics);
	return 0;
}

void metrics_close(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t m = 0; m < METRICS; m++)
		free(metrics->sum[m]);
	free(metrics->y);
	free(metrics);
}

void metrics_closep(struct metrics **metrics)
{
	metrics_close(*metrics);
}

/* ---- Rows ---- */

double metrics_label_at(const struct metrics_shape *shape, const struct metrics_batch *batch, uint64_t i)
{
	return shape->label_dtype == CONFIG_INT64 ? (double)((const int64_t *)batch->label)[i]
						  : (double)((const float *)batch->label)[i];
}

static bool has_class_label(const struct metrics_shape *shape)
{
	return shape->label_elements == 1 && shape->outputs > 1;
}

/* Reads a row's label into metrics->y; a class becomes one-hot. */
static int read_label(struct metrics *metrics, const struct metrics_batch *batch, uint64_t row,
		      struct error *err)
{
	const uint64_t elements = metrics->shape.label_elements, outputs = metrics->shape.outputs;

	if (has_class_label(&metrics->shape)) {
		const double class = metrics_label_at(&metrics->shape, batch, row);

		if (!(class >= 0 && class < (double)outputs))
			return error_set(err, -EBADMSG,
					 "row %" PRIu64 ": label: found %.0f, allowed: classes 0 .. %" PRIu64,
					 metrics->rows, class, outputs - 1);
		memset(metrics->y, 0, outputs * sizeof(*metrics->y));
		metrics->y[(uint64_t) class] = 1;
		return 0;
	}
	for (uint64_t i = 0; i < elements; i++)
		metrics->y[i] = metrics_label_at(&metrics->shape, batch, row * elements + i);
	return 0;
}

static struct seen see(const struct metrics *metrics, const struct metrics_batch *batch, uint64_t row)
{
	const uint64_t outputs = metrics->shape.outputs;
	struct seen seen = { .shape = &metrics->shape,
			     .p = batch->prediction + row * outputs,
			     .y = metrics->y,
			     .weight = batch->weight ? (double)batch->weight[row] : 1 };

	if (outputs == 1) {
		seen.best = (double)seen.p[0] > CUT;
		seen.wanted = seen.y[0] > CUT;
	}
	for (uint64_t i = 1; i < outputs; i++) {
		seen.best = seen.p[i] > seen.p[seen.best] ? i : seen.best;
		seen.wanted = seen.y[i] > seen.y[seen.wanted] ? i : seen.wanted;
	}
	return seen;
}

int metrics_add(struct metrics *metrics, const struct metrics_batch *batch, struct error *err)
{
	for (uint64_t row = 0; row < batch->rows; row++, metrics->rows++) {
		struct seen seen;
		int r;

		if (batch->empty && batch->empty[row])
			continue;
		r = read_label(metrics, batch, row, err);
		if (r < 0)
			return r;
		seen = see(metrics, batch, row);
		for (size_t m = 0; m < METRICS; m++)
			if (goes_with(&table[m], &metrics->shape))
				table[m].add(&seen, metrics->sum[m]);
	}
	return 0;
}

/* ---- Results ---- */

uint32_t metrics_values(const struct metrics *metrics,
			struct metrics_value ret_values[static METRICS_VALUES_MAX])
{
	uint32_t count = 0;

	for (size_t m = 0; m < METRICS; m++)
		if (table[m].value && goes_with(&table[m], &metrics->shape))
			ret_values[count++] =
				(struct metrics_value){ table[m].name, table[m].value(metrics->sum[m]) };
	return count;
}

const double *metrics_confusion(const struct metrics *metrics, uint64_t *ret_classes)
{
	const size_t last = METRICS - 1;

	*ret_classes = classes_of(&metrics->shape);
	return goes_with(&table[last], &metrics->shape) && table[last].sums(&metrics->shape)
		       ? metrics->sum[last]
		       : NULL;
}

/* ---- Figures of a class ---- */

struct run_confusion_class metrics_class_of(const struct metrics *metrics, uint64_t class)
{
	uint64_t classes;
	const double *matrix = metrics_confusion(metrics, &classes);

	return run_confusion_class_of(matrix, classes, class);
}

struct run_confusion_class metrics_class_mean(const struct metrics *metrics)
{
	struct run_confusion_class means = { 0 };
	uint64_t classes;

	(void)metrics_confusion(metrics, &classes);
	for (uint64_t class = 0; class < classes; class ++) {
		const struct run_confusion_class figures = metrics_class_of(metrics, class);

		means.rows += figures.rows;
		means.precision += figures.precision / (double)classes;
		means.recall += figures.recall / (double)classes;
		means.f1 += figures.f1 / (double)classes;
	}
	return means;
}
