/* SPDX-License-Identifier: Apache-2.0 */
/* A layer's attributes, read by its op's specs. */
#pragma once

#include "model/ops.h"

/* Fill node->attribute[] from the layer. -EINVAL: unknown or missing key, wrong type, out of bounds; the text
 * names layer, line, found and allowed. */
MUST_CHECK int attributes_read(struct node *node, const struct config_layer *layer, struct error *err);
