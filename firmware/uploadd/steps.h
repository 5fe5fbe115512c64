/* SPDX-License-Identifier: Apache-2.0 */
/* A set of checkpoints, given by their steps: at most a million, in no order. */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct steps {
	uint64_t *step;
	uint32_t count, size;
};

/* Adds a step, if the set does not have it. Errors: -ENOMEM. */
MUST_CHECK int steps_add(struct steps *steps, uint64_t step, struct error *err);
void steps_remove(struct steps *steps, uint64_t step);
bool steps_has(const struct steps *steps, uint64_t step);
void steps_done(struct steps *steps);
