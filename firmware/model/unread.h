/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the configuration that have no effect, because no layer, loss, optimizer or callback of the
 * configuration reads them. */
#pragma once

#include "model/graph/graph.h"

/* Notes a mistake for each key that is set but has no effect. Does not note keys that belong to another
 * mistake, such as those of an unknown optimizer or layer. */
void unread_check(const struct graph *graph, struct mistakes *mistakes);
