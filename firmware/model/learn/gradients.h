/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to gradients between the backward pass and the optimizer, in Keras's order:
 *   g += l1 sign(w) + 2 l2 w             the gradient of the layers' penalties (kernel_l2 and the like)
 *   g = (g + accumulated) / N            on every Nth step; on the others accumulated += g, and no update
 *   g = min(max(g, -clipvalue), clipvalue), or g *= clipnorm / max(norm, clipnorm) by tensor or over all
 * and the sum of the penalties, l1 |w| + l2 w^2, which the loss includes.
 *
 * Parameters are cut into chunks of one tensor each; a chunk's sums, then a tensor's, then all: an order that
 * no device changes. Nothing of it is launched where the config asks for nothing of it.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Tables and sums, behind the layout of the state arena. */
void gradients_layout(struct graph *graph);
void gradients_emit(struct plan *plan);
/* The sum of the penalties alone, for an evaluation's loss. */
void gradients_emit_penalty(struct plan *plan);
