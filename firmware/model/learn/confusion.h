/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The confusion matrix of an evaluation, counted on the device: how many rows of each class the network takes
 * for which class. A launch after each batch of an evaluation adds to it; a training step has no such launch.
 * The counts are integers, so their sums are the same in every order. The matrix is no part of a checkpoint,
 * because a pass that was interrupted begins again.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Returns the number of classes of a network whose outputs choose one class of several, and whose matrix is
 * not too large (METRICS_CONFUSION_MAX); else 0: the network has no matrix. */
uint64_t confusion_classes(const struct graph *graph);
/* Adds the tensor of the matrix, uint32 [classes, classes], by label (row) and prediction (column), where the
 * network has one. Its `constant` holds zeros. */
void confusion_layout(struct graph *graph);
/* Appends the launch that counts the rows of a batch, after the loss. */
void confusion_emit(struct plan *plan);
