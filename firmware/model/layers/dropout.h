/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of whole channels, the last dimension: shared by the layers that have it. */
#pragma once

#include "model/graph/op.h"

/* Appends the dropout of whole channels: to (+)= from, dropped or scaled; rows have the shape of `shape`. */
void dropout_emit_channels(struct plan *plan, const struct node *node, double rate,
			   const struct tensor *shape, uint32_t from, uint32_t to, bool add);
/* Returns the factor by which dropout multiplies number, or channel, `c` of a row in a reference; outside of
 * training 1. */
double dropout_factor(const struct op_reference *reference, double rate, uint64_t row, uint64_t c);
