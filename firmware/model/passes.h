/* SPDX-License-Identifier: Apache-2.0 */
/* The launches of each pass over a graph. Each function fills an empty plan (plan_init()) and fuses it. */
#pragma once

#include "model/plan/plan.h"

/* A prediction: from the inputs to the output of the last layer, as float32. */
void pass_emit_predict(struct plan *plan);
/* An evaluation: from inputs and labels to the sums of loss and metrics; dropout is off. */
void pass_emit_evaluate(struct plan *plan);
/* A training step: forward with dropout, loss, gradients, the optimizer, metrics, and the search for NaN in
 * the changed parameters. With several micro-batches in a step: what is done for each of them, which is all
 * but the optimizer and the search. */
void pass_emit_train(struct plan *plan);
/* With several micro-batches in a step: what follows the sum of their gradients. */
void pass_emit_apply(struct plan *plan);
/* The same apart, where optimizer_divides(): the update of float16 [from, to) of the parameter region; and
 * what follows when all parts are updated. */
void pass_emit_update(struct plan *plan, uint64_t from, uint64_t to);
void pass_emit_settle(struct plan *plan);
