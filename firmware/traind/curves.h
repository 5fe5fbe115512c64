/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event files for TensorBoard, in three folders, because steps must ascend within each folder
 * (model/formats/tfevents.h):
 *     logs/train        by epoch: epoch_loss, epoch_accuracy, epoch_learning_rate, histograms, config
 *     logs/validation   by epoch: epoch_loss, epoch_accuracy
 *     logs/steps        by step: batch_loss, batch_accuracy, batch_learning_rate, records_per_second,
 *                       stall_percent; with mixed_float16 also loss_scale, skipped_steps; at step 1 pictures
 * A tag for accuracy is missing if the loss has no accuracy. Epochs and tags are numbered and named as Keras
 * does.
 *
 * Points by epoch come from run.json's "epochs", so if the disk is full they are written later. Points by
 * step and histograms that cannot be written are lost. Points by step reach the disk at the end of an epoch:
 * after a power cut, points before the step from which the run goes on may be missing. Main thread only.
 */
#pragma once

#include "core/base/json.h"
#include "model/formats/tfevents.h"

struct model_metrics;
struct train;

enum curve_kind { CURVE_TRAIN, CURVE_VALIDATION, CURVE_STEPS, CURVE_MAX };

/* The event files of one folder. A file is opened with the first point, and closed if writing to it fails. */
struct curve {
	struct tfevents *events; /* NULL = closed */
	uint64_t next;           /* epoch or step of the next point */
};

struct curves {
	struct curve curve[CURVE_MAX];
	/* clock, rows and waiting time at the last point by step */
	uint64_t since_us, since_rows, since_waited_us;
	bool said; /* that points by step are lost is logged already */
};

/* Sets the first points to write. `train_epochs` and `validation_epochs`: number of points that earlier
 * processes have written. Opens no file yet. */
void curves_open(struct train *train, uint64_t train_epochs, uint64_t validation_epochs);
void curves_close(struct train *train);

/* Writes a point for each epoch of `epochs`, a member of run.json, that has none yet; returns 0 once the
 * points are on the disk. */
MUST_CHECK int curves_write(struct train *train, const cJSON *epochs, struct error *err);
/* Writes histograms of parameters and gradients if `epoch`, whose points are already written, is one of those
 * that tensorboard.histogram_epochs selects. Blocks until the writer thread is idle: the model has one
 * snapshot. */
MUST_CHECK int curves_histograms(struct train *train, uint64_t epoch, struct error *err);
/* Tells whether a point by step is due after this training step: the same in all ranks. */
bool curves_due(const struct train *train);
/* Writes the point of this training step, unless an earlier process has written it. `metrics` are those of
 * the epoch so far. Rank 0 alone calls it, where a point is due, and at the end of each epoch. */
MUST_CHECK int curves_step(struct train *train, const struct model_metrics *metrics, bool epoch_ends,
			   struct error *err);
/* Writes pictures of the first batch of the run, as the point of step 1. Returns 0 once they are on the disk.
 */
MUST_CHECK int curves_images(struct train *train, uint32_t width, uint32_t height,
			     const struct tfevents_image *images, uint32_t count, struct error *err);
/* Begins the time that the rates of the next point by step cover. */
void curves_rest(struct train *train);
