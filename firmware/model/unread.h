/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that would be without effect, and what would read them: one table. */
#pragma once

#include "model/graph/graph.h"

/* Note the keys of a described graph's config that ask for something which nothing reads. Of what is wrong in
 * itself, an unknown optimizer or layer, nothing more is said. */
void unread_check(const struct graph *graph, struct mistakes *mistakes);
