/* SPDX-License-Identifier: Apache-2.0 */
/* A node's part in the passes. */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Append a node's launches to a pass: what its row does, and what is the same for every row. */
void op_emit_forward(struct plan *plan, const struct node *node, bool training);
void op_emit_backward(struct plan *plan, const struct node *node);
