/* SPDX-License-Identifier: Apache-2.0 */
/* A layer's attributes, read by its op's specs. */
#pragma once

#include "model/layers/op.h"

#include <stdio.h>

/* Fill node->attribute[] from the layer. Mistakes: unknown or missing keys, wrong types, out of bounds; those
 * attributes are 0. */
void attributes_read(struct node *node, const struct config_layer *layer, struct mistakes *mistakes);
/* A line for each attribute that a layer of this op may have: name, what is allowed, what it is when absent.
 */
void attributes_describe(const struct op *op, FILE *out);
