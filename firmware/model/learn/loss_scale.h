/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss scale of mixed_float16. Small gradients would become zero in 16 bits. Therefore the gradient of
 * the loss is multiplied by a scale, and the gradients are divided by it before they change the weights. The
 * scale adapts like Keras's LossScaleOptimizer with its defaults: it starts at 2^15; a step with a gradient
 * that is not finite is skipped and halves the scale; 2000 finite steps double it. The device decides this
 * within the step, because the host is already two batches ahead.
 *
 * A skipped step changes neither parameters nor slots nor the moving average, and the optimizer's correction
 * does not count it. It still counts as a step for schedules, dropout, ema_overwrite_frequency and
 * checkpoints. While gradients accumulate, a batch with a gradient that is not finite adds nothing, and no
 * update is skipped.
 *
 * The state has "state/loss_scale" F32 [1] and "state/loss_scale_steps" I64 [2], see kernels/loss_scale.cl. A
 * checkpoint of another precision has neither; the scale then starts from 2^15 again. A scale below 1 is an
 * error: the gradients would overflow even without a scale. A loss that is NaN or infinite is an error in
 * every precision.
 */
#pragma once

#include "model/plan/plan.h"

#define LOSS_SCALE_INITIAL 32768.0f

/* Adds the tensors of the loss scale that belong to the state. */
void loss_scale_layout_state(struct graph *graph);
/* Adds the other tensors of the loss scale. Call it when the size of the gradient region is known. */
void loss_scale_layout(struct graph *graph);

/* Appends the launches that follow the backward pass: the verdict on the gradients, and their division by the
 * scale. */
void loss_scale_emit(struct plan *plan);
/* Returns the verdict as an argument for kernels that change the state; a null pointer without a scale. */
struct argument loss_scale_verdict(const struct graph *graph);
/* Returns the scale as an argument for the kernels of losses; a null pointer without a loss scale. */
struct argument loss_scale_factor(const struct graph *graph);
