/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confusion matrices: the figures of their classes, and the member "confusion" of run.json, which the trainer
 * makes and the report shows. A matrix is [classes, classes], by label (row) and prediction (column). Pure.
 *
 * The member has few bytes whatever the number of classes:
 *   classes   how many there are
 *   rows      the rows of all classes
 *   matrix    [[rows]], where there are at most RUN_CONFUSION_WHOLE classes; else two lists in its place, of
 *             at most RUN_CONFUSION_LISTED entries each:
 *   pairs     [{label, prediction, rows}]: the classes that are taken for others most often, the most rows
 *             first
 *   weakest   [{class, rows, precision, recall}]: the classes with the lowest recall, the lowest first,
 *             without classes that no label names
 * A class is a number; its name is in the member "classes" of run.json.
 */
#pragma once

#include "core/base/json.h"

#define RUN_CONFUSION_WHOLE  64u
#define RUN_CONFUSION_LISTED 64u

/* Figures of one class. As in divide_no_nan() of Keras, x / 0 is 0. */
struct run_confusion_class {
	double rows;      /* the rows whose label is the class */
	double precision; /* how many of the rows with this prediction have this label */
	double recall;    /* how many of the rows with this label have this prediction */
	double f1;        /* harmonic mean of precision and recall */
};

/* Cost: O(classes). */
struct run_confusion_class run_confusion_class_of(const double *matrix, uint64_t classes, uint64_t class);

/* Returns the member, which the caller frees; `matrix` holds counts of rows. NULL: no memory. */
cJSON *run_confusion_member(const double *matrix, uint64_t classes);

/* Reads the matrix of a member, which may come from outside. The caller frees it. Returns the number of
 * classes; 0: the member has no whole matrix of 2 .. RUN_CONFUSION_WHOLE classes, or there is no memory. */
uint64_t run_confusion_matrix(const cJSON *member, double **ret_matrix);

/* How often one class is taken for another. */
struct run_confusion_pair {
	uint64_t label, prediction;
	double rows;
};
/* Writes the pairs of different classes with the most rows, the most first; of equal ones the first in the
 * matrix. Returns their count, at most `most`. */
uint32_t run_confusion_pairs(const double *matrix, uint64_t classes, uint32_t most,
			     struct run_confusion_pair *ret_pair);
