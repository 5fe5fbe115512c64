/* SPDX-License-Identifier: Apache-2.0 */
/* Appends the launches of a node to a pass: those that the row of its op in the table of layers describes,
 * and those that every op needs. */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Appends the launches of the forward pass, after copies of the inputs that do not have the type of
 * activations. */
void op_emit_forward(struct plan *plan, const struct node *node, bool training);
/* Appends the launches of the backward pass; appends nothing if the output has no gradient. */
void op_emit_backward(struct plan *plan, const struct node *node);
