/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the optimizers of the table: the size of their launches, and weight decay. */
#pragma once

#include "model/learn/optimizers.h"
#include "model/plan/plan.h"

/* Returns the work-groups that update `vectors` vectors of 16 floats, in the shape of update_shape(). */
struct extent optimizer_groups(const struct plan *plan, uint64_t vectors);
/* Returns the weight decay that an update kernel must apply, as an argument; 0 if the kernel decay_weights
 * applies it before. */
struct argument optimizer_decay(const struct plan *plan);
/* optimizer_vectors() returns the size of the parameter region in vectors of 16 floats. */
#define OPTIMIZER_VECTOR_BYTES 64u
uint64_t optimizer_vectors(const struct plan *plan);

/* Returns the share of a parameter that weight decay subtracts in a step, divided by the learning rate. */
double optimizer_weight_decay(const struct config *config, const struct optimizer *optimizer);
/* Returns beta_2, of the configuration or the optimizer's default. */
double optimizer_beta_2(const struct config *config, const struct optimizer *optimizer);
/* Returns whether weight decay is on and some parameters are excluded from it. */
bool optimizer_excludes(const struct graph *graph);
/* Returns whether this parameter is excluded from weight decay. */
bool optimizer_excluded(const struct config *config, const char *parameter);
