/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of an evaluation, for `kiln evaluate`: a table with Keras's formulae and defaults. Sums are float64
 * on the host, row after row, so the same rows in the same order give the same bits. The metrics of a
 * training run come from the device, by model_metrics().
 *
 * Order: metrics_open -> metrics_add* -> metrics_values, metrics_confusion -> metrics_close. One thread.
 * Cost of a row: O(outputs); memory: 400 numbers for each of two areas, 3 for each output, and classes^2 up
 * to METRICS_CONFUSION_MAX classes.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/run/run_confusion.h"

struct metrics;

/* Meaning of the outputs of a row. METRICS_CLASSES: one class of several (softmax, or one sigmoid for two
 * classes). METRICS_LABELS: yes or no for each output. METRICS_NUMBERS: numbers. */
enum metrics_kind { METRICS_CLASSES = 1, METRICS_LABELS = 2, METRICS_NUMBERS = 4 };

struct metrics_shape {
	uint64_t outputs, label_elements; /* numbers per row; label_elements 1 with several outputs: the label
					     is a class */
	int label_dtype;                  /* CONFIG_INT64 or CONFIG_FLOAT32 */
	uint64_t top_k;                   /* model.top_k; 0: not set */
	enum metrics_kind kind;
};

struct metrics_batch {
	uint64_t rows;
	const float *prediction; /* [rows, outputs], from model_predict() */
	const void *label;       /* [rows, label_elements] */
	const float *weight;     /* [rows]; NULL: all rows have weight 1 */
	const uint8_t *empty;    /* [rows], 1 = the row does not count; NULL = all rows count */
};

struct metrics_value {
	const char *name;
	double value; /* 0 if no row counted, as in Keras */
};

#define METRICS_VALUES_MAX    16u
#define METRICS_CONFUSION_MAX 1000u

/* Returns the shape of a model's predictions; `outputs` is model_classes(). `config` must be valid. */
struct metrics_shape metrics_shape_of(const struct config *config, uint64_t outputs);

MUST_CHECK int metrics_open(const struct metrics_shape *shape, struct metrics **ret_metrics,
			    struct error *err);
void metrics_close(struct metrics *metrics);
void metrics_closep(struct metrics **metrics);

/* Returns number `i` of the labels of a batch. */
double metrics_label_at(const struct metrics_shape *shape, const struct metrics_batch *batch, uint64_t i);

/* Adds the rows of a batch. Errors: -EBADMSG the class in a label is not below the number of outputs; the
 * text names row, found and allowed class. The rows before that row are counted. */
MUST_CHECK int metrics_add(struct metrics *metrics, const struct metrics_batch *batch, struct error *err);

/* Writes the metrics that exist for this kind of labels (enum metrics_kind), in the order of the table in
 * metric_table.c. Returns how many it wrote. */
uint32_t metrics_values(const struct metrics *metrics,
			struct metrics_value ret_values[static METRICS_VALUES_MAX]);
/* Returns the confusion matrix [classes, classes]: the sum of the weights of all rows, by label (row) and
 * prediction (column). NULL for METRICS_LABELS, METRICS_NUMBERS and more than METRICS_CONFUSION_MAX classes.
 * Owns: the metrics own the matrix. */
const double *metrics_confusion(const struct metrics *metrics, uint64_t *ret_classes);

/* Returns the figures of a class. metrics_confusion() must have a matrix with that class. */
struct run_confusion_class metrics_class_of(const struct metrics *metrics, uint64_t class);
/* Returns the means of the figures of all classes, each class counting the same; `rows` is the sum. */
struct run_confusion_class metrics_class_mean(const struct metrics *metrics);
