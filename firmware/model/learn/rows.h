/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table in optimizers.c, one file a family, and what their kernels share. */
#pragma once

#include "model/learn/optimizers.h"
#include "model/plan/plan.h"

extern const struct optimizer optimizer_adam, optimizer_adamw, optimizer_sgd;

/* Work-groups over `vectors` float16, as update_shape() has them. */
struct extent optimizer_groups(const struct plan *plan, uint64_t vectors);
/* What an update kernel subtracts of the weights themselves; 0 where decay_weights has. */
struct argument optimizer_decay(const struct plan *plan);
/* float16 of the parameter region. */
#define OPTIMIZER_VECTOR_BYTES 64u
uint64_t optimizer_vectors(const struct plan *plan);
