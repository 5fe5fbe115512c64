/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the configuration that have no effect, because nothing that is configured reads them. */
#pragma once

#include "model/graph/graph.h"

/* Notes the keys with which the configuration asks for something that nothing reads. Says nothing of keys
 * that are wrong anyway, such as those of an unknown optimizer or layer. */
void unread_check(const struct graph *graph, struct mistakes *mistakes);
