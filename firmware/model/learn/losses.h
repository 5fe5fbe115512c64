/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of losses, with Keras's formulae. A loss takes the place of the last node's forward pass where
 * the two are one formula (softmax or sigmoid and cross-entropy from logits, as Keras does it), leaves loss
 * and hits of each row, and begins the backward pass.
 *
 * A row counts its sample weight, or its class's, times; the mean is over the rows, not their weights. Hits
 * count rows, whatever they weigh. "Accuracy" is what Keras takes it for by the shapes: one output: p > 0.5
 * is the label; a label of one class: the largest output is its; else: the largest output is where the label
 * is largest. A loss of METRICS_NUMBERS has none, nor hits.
 */
#pragma once

#include "model/graph/graph.h"
#include "model/learn/metrics.h"

struct plan;

/* What the loss's kernel leaves of a row, besides its loss; see kernels/losses.cl. */
enum row_hit { ROW_HIT = 1, ROW_TOP = 2, ROW_WRONG = 4 };

struct loss_reference {
	uint64_t rows, outputs, label_elements;
	const double *z, *label; /* [rows, outputs], [rows, label_elements] */
	const uint8_t *empty;    /* or NULL */
	const double *sample;    /* [rows], or NULL */
	const struct config *config;
	bool training; /* class weights count */
	/* Out: row loss; 1 = hit, row by row; dz may be NULL. */
	double *row_loss, *row_correct, *row_top, *dz;
};

struct loss {
	const char *name;
	enum metrics_kind kind; /* what a row's outputs say; one output of METRICS_LABELS is two classes */
	const char *output_op; /* the op the last layer must be, whose forward pass it contains; NULL = any */
	bool class_label;      /* int64 [1], a class; else a number for each output */
	bool float_label;      /* float32 is allowed, too */
	bool smooths;          /* takes model.label_smoothing */
	uint64_t label_limit;  /* each number of a label is within 0 .. label_limit - 1; 0 = any, or the
				* outputs with class_label */
	const char *kernel;
	/* float64. One row's loss, and its gradient unless dz is NULL, not yet weighted. */
	double (*row)(uint64_t outputs, const double *z, const double *label, double smoothing, double *dz);
};

/* NULL: no such loss. */
const struct loss *loss_find(const char *name);
const char *loss_names(void);
/* Note what the output, the label and the keys of the model have against one another. */
void loss_check(const struct graph *graph, struct mistakes *mistakes);

/* Tensors that hold what the config says of it: class weights. */
void loss_layout(struct graph *graph);
/* Append the launch: row loss and hits; with `training` the gradient too. */
void loss_emit(struct plan *plan, bool training);
/* Each number of a label is within 0 .. this - 1; 0 = it may be any. */
uint64_t loss_label_limit(const struct graph *graph);
/* All of it in float64, for tests and benches to compare with. */
void loss_reference(const struct loss *loss, const struct loss_reference *reference);
