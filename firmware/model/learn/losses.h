/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firmware/model/learn: what training adds to the layers. A step runs, in this order: the loss (losses.h),
 * the layers' backward pass, the loss scale (loss_scale.h), penalties, accumulation and clipping
 * (gradients.h), the optimizer (optimizers.h, update.h) at the rate of a schedule (schedules.h). The other
 * files hold pure functions: metrics of an evaluation (metrics.h), decisions at the end of an epoch
 * (callbacks.h), and when a checkpoint is due (cadence.h).
 *
 * Threads: none. The functions that emit append launches to a plan before the first step; the others compute.
 * Owners: tensors belong to the graph, launches to the plan. Crash: nothing here is on the disk; the states
 * of callbacks and of the loss scale are part of the state that a checkpoint holds.
 *
 * ---- Losses ----
 *
 * The table of losses, with Keras's formulae. A cross-entropy contains the last layer's softmax or sigmoid
 * and is computed from logits, as in Keras: its kernel replaces that layer's forward pass. Each kernel writes
 * loss and hits of each row and begins the backward pass.
 *
 * A row's loss is multiplied by its sample weight or the weight of its class. The mean divides by the number
 * of rows, not by the sum of weights. Hits count rows without weights. A hit is what Keras calls accuracy:
 *   - with one output: p > 0.5 equals the label;
 *   - with a label that is a class: the largest output is that class;
 *   - otherwise: the largest output and the largest number of the label are at the same index.
 * A loss of METRICS_NUMBERS has neither accuracy nor hits.
 *
 * The formulae in float64 are in loss_rows.c.
 */
#pragma once

#include "model/graph/graph.h"
#include "model/learn/metrics.h"

struct plan;

/* Flags that the kernel of a loss writes for each row, in addition to the loss; see kernels/losses.cl. */
enum row_hit { ROW_HIT = 1, ROW_TOP = 2, ROW_WRONG = 4 };

/* Numbers of the configuration that the formulae read. */
struct loss_settings {
	double smoothing;   /* model.label_smoothing */
	double shape;       /* huber: model.huber_delta; focal: model.focal_gamma */
	double ones, zeros; /* focal: factors of the loss where the label is 1, and where it is 0 */
};

struct loss_reference {
	uint64_t rows, outputs, label_elements;
	const double *z, *label; /* [rows, outputs], [rows, label_elements] */
	const uint8_t *empty;    /* [rows], or NULL */
	const double *sample;    /* [rows], or NULL */
	const struct config *config;
	bool training; /* true: class weights are applied */
	/* Results, one number per row: row_loss; row_correct 1 = hit; row_top 1 = in the top k. dz is [rows,
	 * outputs] or NULL. */
	double *row_loss, *row_correct, *row_top, *dz;
};

struct loss {
	const char *name;
	enum metrics_kind kind; /* meaning of the outputs; METRICS_LABELS with one output means two classes */
	const char *output_op;  /* required op of the last layer, computed by the kernel; NULL: any op */
	bool class_label; /* true: the label is a class, int64 [1]; false: it has a number for each output */
	bool float_label; /* the label may be float32, too */
	bool one_row;     /* the loss is one of all outputs of a row, which therefore are of one position */
	bool smooths;     /* model.label_smoothing may be set */
	uint64_t label_limit; /* numbers of a label lie within 0 .. label_limit - 1; 0 = any number; with
			       * class_label the limit is the number of outputs */
	const char *kernel, *kernel_group; /* the kernel on CPU devices, and the one on others */
	/* Reference in float64: returns one row's loss and writes its gradient unless dz is NULL, both
	 * without weights. */
	double (*row)(uint64_t outputs, const double *z, const double *label,
		      const struct loss_settings *settings, double *dz);
	/* Sets shape, ones and zeros. NULL: the formula does not read them. */
	void (*settings)(const struct config *config, struct loss_settings *settings);
};

/* Returns the loss of this name, or NULL. */
const struct loss *loss_find(const char *name);
const char *loss_names(void);
struct loss_settings loss_settings_of(const struct loss *loss, const struct config *config);
/* Notes a mistake wherever the last layer, the label or a key of `model` does not fit the loss. */
void loss_check(const struct graph *graph, struct mistakes *mistakes);

/* Returns the tensor that the kernel of the loss reads: the input of the last layer where the kernel computes
 * that layer, else the output of the last layer. */
uint32_t loss_logits(const struct graph *graph);
/* Adds the tensor of the class weights, if the config has them. */
void loss_layout(struct graph *graph);
/* Appends the launch that computes loss and hits of each row, and with `training` the gradient. */
void loss_emit(struct plan *plan, bool training);
/* Returns the limit of a label's numbers, which lie within 0 .. limit - 1; 0 = any number. */
uint64_t loss_label_limit(const struct graph *graph);
/* Computes the outputs of `reference` in float64, for tests and benches. */
void loss_reference(const struct loss *loss, const struct loss_reference *reference);
