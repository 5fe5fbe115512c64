/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss and metrics of the passes so far, as run.json contains them, with Keras's names:
 *   "epochs"    one object per epoch: {epoch, step, at_ms, loss, accuracy, learning_rate, validation_loss,
 *               validation_accuracy}
 *   "metrics"   {train, validation, test}, each {loss, accuracy, rows} of the last pass over that split that
 *               had rows
 * With model.top_k each accuracy is followed by a top_k_accuracy. A loss without an accuracy leaves both out.
 * No function here uses files or the device.
 *
 * Order: history_load -> (history_add | history_figures)* -> history_close.
 */
#pragma once

#include "core/base/json.h"
#include "core/ring/cursor.h"
#include "model/learn/callbacks.h"
#include "model/model.h"

/* A longer list of epochs is thinned, so that run.json stays far below what its readers take: every second
 * epoch is dropped, so the older the epochs, the fewer are left. The first and the last epoch stay, and those
 * with the smallest and the largest of each figure, because the best checkpoint is chosen by them. */
#define HISTORY_EPOCHS_MAX 4096

struct history {
	cJSON *epochs, *metrics;
	bool top_k; /* model.top_k is set */
};

/* Returns the number of passes over `split` that are complete before `cursor`, in a run of `epochs` epochs.
 * The validation of an epoch comes after its training. */
uint64_t history_passes(const struct cursor *cursor, uint64_t epochs, enum split split);

/* Moves "epochs" and "metrics" out of `record`, which is run.json, and drops epochs with the number `passes`
 * or later: epochs that a checkpoint's cursor does not cover are trained again. Errors: -EBADMSG. */
MUST_CHECK int history_load(struct history *history, cJSON *record, uint64_t passes, struct error *err);
void history_close(struct history *history);

/* The outcome of a pass over a split. */
struct history_pass {
	enum split split;
	uint64_t epoch, step;
	uint64_t at_ms; /* Unix time at which the pass ended, in ms */
	double learning_rate;
	const struct model_metrics *metrics;
};
/* Adds a pass. False: no memory. */
bool history_add(struct history *history, const struct history_pass *pass);
/* Returns the first epoch of the list whose number is `epoch` or a later one; NULL = none. *ret_number: its
 * number, counted from 0. */
const cJSON *history_from(const cJSON *epochs, uint64_t epoch, uint64_t *ret_number);
/* Returns the metrics of an epoch, NAN for each that the epoch does not have. */
struct callbacks_figures history_figures(const struct history *history, uint64_t epoch);

/* Sets a number of `object`; a number larger than 2^53 becomes 2^53, the largest that run.json holds. False:
 * no memory. */
bool history_set_number(cJSON *object, const char *key, double value);
