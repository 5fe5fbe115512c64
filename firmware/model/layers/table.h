/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layers: finds the row of an op. */
#pragma once

#include "model/layers/op.h"

/* NULL: no such op. */
const struct op *op_find(const char *name);
/* The rows, i = 0, 1, ... until NULL. */
const struct op *op_at(uint32_t i);
/* "dense, dropout, ..." for messages. */
const char *op_names(void);
