/* SPDX-License-Identifier: Apache-2.0 */
/* The launches of a graph's passes, each into an empty plan (plan_init()), fused. */
#pragma once

#include "model/plan/plan.h"

/* Inputs -> what the last layer makes of them, as float32. */
void pass_emit_predict(struct plan *plan);
/* Inputs and labels -> the sums of loss and metrics; dropout is off. */
void pass_emit_evaluate(struct plan *plan);
/* The same with dropout, then gradients, the optimizer's step, and the look for NaN in what it changed. */
void pass_emit_train(struct plan *plan);
