/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of the table of optimizers share: the size of their launches, and weight decay. */
#pragma once

#include "model/learn/optimizers.h"
#include "model/plan/plan.h"

/* Work-groups over `vectors` float16, as update_shape() has them. */
struct extent optimizer_groups(const struct plan *plan, uint64_t vectors);
/* What an update kernel subtracts of the weights themselves; 0 where decay_weights has. */
struct argument optimizer_decay(const struct plan *plan);
/* float16 of the parameter region. */
#define OPTIMIZER_VECTOR_BYTES 64u
uint64_t optimizer_vectors(const struct plan *plan);

/* The part of itself that a parameter loses per unit of the learning rate. */
double optimizer_weight_decay(const struct config *config, const struct optimizer *optimizer);
/* Whether weight decay passes over some parameters, and over this one. */
bool optimizer_excludes(const struct graph *graph);
bool optimizer_excluded(const struct config *config, const char *parameter);
