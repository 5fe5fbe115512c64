/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event files for TensorBoard, in three folders, as steps must ascend within each (model/formats/tfevents.h):
 *     logs/train        by epoch: epoch_loss, epoch_accuracy, epoch_learning_rate, histograms, config
 *     logs/validation   by epoch: epoch_loss, epoch_accuracy
 *     logs/steps        by step: batch_loss, batch_accuracy, batch_learning_rate, records_per_second,
 *                       stall_percent; with mixed_float16 also loss_scale, skipped_steps
 * A loss that has no accuracy leaves the tag out. Epochs and tags are numbered and named as Keras does.
 *
 * Points by epoch come from run.json's "epochs", so after a full disk they are written later. Points by step
 * and histograms that cannot be written are lost. Points by step reach the disk at the end of an epoch: after
 * a power cut a gap may lie before the step from which the run goes on. Main thread only.
 */
#pragma once

#include "core/base/json.h"
#include "model/formats/tfevents.h"

struct train;

enum curve_kind { CURVE_TRAIN, CURVE_VALIDATION, CURVE_STEPS, CURVE_MAX };

/* The event files of one folder: opened with the first point, closed after an error of writing. */
struct curve {
	struct tfevents *events; /* NULL = closed */
	uint64_t next;           /* epoch or step of the next point */
};

struct curves {
	struct curve curve[CURVE_MAX];
	uint64_t since_us, since_rows, since_waited_us; /* clock and status page at the last point by step */
	bool said;                                      /* the loss of points by step is logged */
};

/* `train_epochs` and `validation_epochs`: points that earlier processes have written. Opens no file yet. */
void curves_open(struct train *train, uint64_t train_epochs, uint64_t validation_epochs);
void curves_close(struct train *train);

/* Writes the epochs of run.json's `epochs` that have no point yet; returns 0 once they are on the disk. */
MUST_CHECK int curves_write(struct train *train, const cJSON *epochs, struct error *err);
/* Writes histograms of parameters and gradients if `epoch`, whose points are already written, is one of those
 * that tensorboard.histogram_epochs selects. Blocks until the writer thread is idle: the model has one
 * snapshot. */
MUST_CHECK int curves_histograms(struct train *train, uint64_t epoch, struct error *err);
/* After a training step: writes a point if one is due. */
MUST_CHECK int curves_step(struct train *train, bool epoch_ends, struct error *err);
/* The rates of the next point by step count from now on. */
void curves_rest(struct train *train);
