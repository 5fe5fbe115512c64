/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of the passes so far, as run.json has them, with Keras's names:
 *   "epochs"    one object an epoch: {epoch, step, loss, accuracy, learning_rate, validation_loss,
 *               validation_accuracy}
 *   "metrics"   {train, validation, test}, each {loss, accuracy, rows} of the last pass over that split that
 *               had rows
 * With model.top_k there is also top_k_accuracy beside each accuracy. A loss that has no accuracy leaves both
 * out. Pure data: no files, no device.
 *
 * Order: history_load -> (history_add | history_figures)* -> history_close.
 */
#pragma once

#include "core/base/json.h"
#include "core/ring/cursor.h"
#include "model/learn/callbacks.h"
#include "model/model.h"

struct history {
	cJSON *epochs, *metrics;
	bool top_k; /* model.top_k is set */
};

/* Passes over `split` that are complete before `cursor`, of a run of `epochs` epochs. Validation k follows
 * train k. */
uint64_t history_passes(const struct cursor *cursor, uint64_t epochs, enum split split);

/* Moves both members out of `record`, which is run.json, and drops epochs after the first `passes`: those
 * that a checkpoint's cursor does not cover are trained again. Errors: -EBADMSG. */
MUST_CHECK int history_load(struct history *history, cJSON *record, uint64_t passes, struct error *err);
void history_close(struct history *history);

/* The figures of a pass over a split. */
struct history_pass {
	enum split split;
	uint64_t epoch, step;
	double learning_rate;
	const struct model_metrics *metrics;
};
/* False: no memory. */
bool history_add(struct history *history, const struct history_pass *pass);
/* NAN for each figure that the epoch does not have. */
struct callbacks_figures history_figures(const struct history *history, uint64_t epoch);

/* Replaces a number of `object`; larger than 2^53 becomes 2^53, the most that run.json holds. False: no
 * memory. */
bool history_set_number(cJSON *object, const char *key, double value);
