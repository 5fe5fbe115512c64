/* SPDX-License-Identifier: Apache-2.0 */
/* Appends the launches of a node to a pass: those of its row, and what is the same for every row. */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Copies inputs into the type of activations where they have another one, then appends the row's launches. */
void op_emit_forward(struct plan *plan, const struct node *node, bool training);
/* Appends the launches of the backward pass; none where the output has no gradient. */
void op_emit_backward(struct plan *plan, const struct node *node);
