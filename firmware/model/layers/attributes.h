/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the attributes of a layer by the specs of its op. */
#pragma once

#include "model/graph/op.h"

#include <stdio.h>

/* Fills node->attribute[] from the layer. Notes unknown and missing keys, wrong types and numbers out of
 * bounds; an attribute with a mistake is 0. */
void attributes_read(struct node *node, const struct config_layer *layer, struct mistakes *mistakes);
/* Writes one line for each attribute of an op: its name, the allowed values, its default. */
void attributes_describe(const struct op *op, FILE *out);
/* Tells whether an op has a parameter to learn, and so the attribute `trainable`. State of a layer, such as
 * statistics, is not learnt. */
bool attributes_learns(const struct op *op);
