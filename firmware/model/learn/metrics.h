/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an evaluation says of predictions, besides the loss: the table of metrics, with Keras's formulae and
 * defaults. Sums are float64 on the host, row after row, so the same rows in the same order give the same
 * bits. What a model's own passes count while they run is in model_metrics().
 *
 * Order: metrics_open -> metrics_add* -> metrics_values, metrics_confusion -> metrics_close. One thread.
 * Cost of a row: O(outputs); memory: 400 numbers, and classes^2 up to METRICS_CONFUSION_MAX classes.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

struct metrics;

/* What the loss makes of a row: one class of several (softmax, or one sigmoid: 0 or 1), a yes or no for each
 * output, or numbers. */
enum metrics_kind { METRICS_CLASSES = 1, METRICS_LABELS = 2, METRICS_NUMBERS = 4 };

struct metrics_shape {
	uint64_t outputs,
		label_elements; /* of a row; with label_elements 1 and more outputs a class's number */
	int label_dtype;        /* CONFIG_INT64 or CONFIG_FLOAT32 */
	uint64_t top_k;         /* 0 = none */
	enum metrics_kind kind;
};

struct metrics_batch {
	uint64_t rows;
	const float *prediction; /* [rows, outputs], as model_predict() gives them */
	const void *label;       /* [rows, label_elements] */
	const float *weight;     /* [rows], NULL = 1 each */
	const uint8_t *empty;    /* [rows], 1 = does not count; NULL = all do */
};

struct metrics_value {
	const char *name;
	double value; /* 0 where nothing counted, as Keras has it */
};

#define METRICS_VALUES_MAX    16u
#define METRICS_CONFUSION_MAX 1000u

/* The shape of what a config's model predicts; `outputs`: model_classes(). The config has been checked. */
struct metrics_shape metrics_shape_of(const struct config *config, uint64_t outputs);

MUST_CHECK int metrics_open(const struct metrics_shape *shape, struct metrics **ret_metrics,
			    struct error *err);
void metrics_close(struct metrics *metrics);
void metrics_closep(struct metrics **metrics);

/* -EBADMSG: a row's class is none of the outputs; the text has row, found and allowed. The rows before it are
 * counted. */
MUST_CHECK int metrics_add(struct metrics *metrics, const struct metrics_batch *batch, struct error *err);

/* Those of the table that go with the shape, in its order; returns how many. */
uint32_t metrics_values(const struct metrics *metrics,
			struct metrics_value ret_values[static METRICS_VALUES_MAX]);
/* [classes, classes], rows by label, columns by prediction: what the rows weigh together. NULL:
 * METRICS_LABELS, METRICS_NUMBERS or too many classes. It is the metrics'. */
const double *metrics_confusion(const struct metrics *metrics, uint64_t *ret_classes);
