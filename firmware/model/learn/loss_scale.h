/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixed_float16: the gradient of the loss is multiplied by a scale, so that small gradients do not vanish in
 * 16 bits, and what reaches the weights is divided by it. The scale adapts as Keras's LossScaleOptimizer has
 * it by default: 2^15 at first; where a gradient is not finite the step is skipped and the scale halved;
 * after 2000 finite steps it is doubled. The device decides, in the step: the host is two batches ahead.
 *
 * A skipped step changes neither parameters nor slots nor the moving average, and the optimizer's correction
 * does not count it; the step itself does, with what follows it: schedules, dropout, ema_overwrite_frequency,
 * checkpoints. While gradients accumulate, a batch that is not finite adds nothing, and no update is skipped.
 *
 * The state has "state/loss_scale" F32 [1] and "state/loss_scale_steps" I64 [2], see kernels/loss_scale.cl; a
 * checkpoint of another precision has neither, and the scale then begins anew. A scale below 1 is a fault:
 * what overflows then overflows unscaled. A loss that is NaN or infinite is one in every precision: no scale
 * mends it.
 */
#pragma once

#include "model/plan/plan.h"

#define LOSS_SCALE_INITIAL 32768.0f

/* What of the state it needs; the rest, when the regions are known. */
void loss_scale_layout_state(struct graph *graph);
void loss_scale_layout(struct graph *graph);

/* Behind the backward pass: the verdict, and gradients without the scale. */
void loss_scale_emit(struct plan *plan);
/* For kernels that the verdict concerns, and for the loss; a null pointer where nothing is scaled. */
struct argument loss_scale_verdict(const struct graph *graph);
struct argument loss_scale_factor(const struct graph *graph);

/* Whether a tensor of the state is its: a checkpoint may be without it. */
bool loss_scale_is_state(const char *name);
