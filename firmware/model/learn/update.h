/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the optimizers of the table: the size of their launches, and weight decay. */
#pragma once

#include "model/learn/optimizers.h"
#include "model/plan/plan.h"

/* Work-groups over `vectors` float16, in the shape of update_shape(). */
struct extent optimizer_groups(const struct plan *plan, uint64_t vectors);
/* The weight decay that an update kernel applies; 0 if the kernel decay_weights has applied it before. */
struct argument optimizer_decay(const struct plan *plan);
/* The parameter region as vectors of 16 floats. */
#define OPTIMIZER_VECTOR_BYTES 64u
uint64_t optimizer_vectors(const struct plan *plan);

/* The share of a parameter that weight decay subtracts per unit of the learning rate. */
double optimizer_weight_decay(const struct config *config, const struct optimizer *optimizer);
/* Whether weight decay is on and leaves out some parameters. */
bool optimizer_excludes(const struct graph *graph);
/* Whether weight decay leaves out this parameter. */
bool optimizer_excluded(const struct config *config, const char *parameter);
