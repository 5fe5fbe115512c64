/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/metrics.h"

#include "model/learn/losses.h"
#include "model/learn/metric_table.h"

#include <inttypes.h>
#include <string.h>

struct metrics {
	struct metrics_shape shape;
	uint64_t rows; /* rows of all batches, including those that do not count */
	double *y;     /* the label of the current row */
	double *sum[METRICS_VALUES_MAX];
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
	for (uint32_t m = 0; whole && m < metric_count; m++) {
		metrics->sum[m] = calloc(metric_table[m].sums(shape) + 1, sizeof(double));
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
	for (uint32_t m = 0; m < metric_count; m++)
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
		seen.best = (double)seen.p[0] > METRIC_CUT;
		seen.wanted = seen.y[0] > METRIC_CUT;
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
		for (uint32_t m = 0; m < metric_count; m++)
			if (goes_with(&metric_table[m], &metrics->shape))
				metric_table[m].add(&seen, metrics->sum[m]);
	}
	return 0;
}

/* ---- Results ---- */

uint32_t metrics_values(const struct metrics *metrics,
			struct metrics_value ret_values[static METRICS_VALUES_MAX])
{
	uint32_t count = 0;

	for (uint32_t m = 0; m < metric_count; m++)
		if (metric_table[m].value && goes_with(&metric_table[m], &metrics->shape))
			ret_values[count++] =
				(struct metrics_value){ metric_table[m].name,
							metric_table[m].value(metrics->sum[m]) };
	return count;
}

const double *metrics_confusion(const struct metrics *metrics, uint64_t *ret_classes)
{
	const uint32_t last = metric_count - 1;

	*ret_classes = metric_classes(&metrics->shape);
	return goes_with(&metric_table[last], &metrics->shape) && metric_table[last].sums(&metrics->shape)
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
