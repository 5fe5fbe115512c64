/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The changes to gradients between the backward pass and the optimizer, in Keras's order:
 *   g += l1 sign(w) + 2 l2 w             penalties of the layers (kernel_l2 and the like)
 *   g = (g + accumulated) / N            accumulation, on every Nth step; on the others accumulated += g and
 *                                        there is no update
 *   g = min(max(g, -clipvalue), clipvalue)      clipping by value, or
 *   g *= clipnorm / max(norm, clipnorm)         by the norm of a tensor, or of all gradients together
 * Also the sum of the penalties, l1 |w| + l2 w^2, which is a term of the loss.
 *
 * Sums run in one order on every device, so their bits are the same: each parameter is cut into chunks; a
 * chunk is summed, then the chunks of a tensor, then the tensors. Without penalties, accumulation and
 * clipping nothing is launched.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Adds the tensors of tables and sums. The tensors of the state arena must have their offsets. */
void gradients_layout(struct graph *graph);
/* Appends the launches for penalties, accumulation and clipping. */
void gradients_emit(struct plan *plan);
/* Appends the launches that sum the penalties, for the loss of an evaluation. */
void gradients_emit_penalty(struct plan *plan);
