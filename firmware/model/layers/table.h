/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layers: finds the row of an op. */
#pragma once

#include "model/layers/op.h"

/* Returns the row of an op, or NULL: there is no such op. */
const struct op *op_find(const char *name);
/* Returns row i = 0, 1, ...; NULL after the last. */
const struct op *op_at(uint32_t i);
/* Returns the names of all ops, "dense, relu, ...", for messages. */
const char *op_names(void);
