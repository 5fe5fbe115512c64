/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the losses: keys of a configuration that the formulae read, and outputs that they
 * allow. */
#pragma once

#include "tests/reference.h"

#include <string.h>

/* Sets the keys of all losses to numbers that are not their defaults. */
static inline void set_loss_keys(struct config *of)
{
	of->model.huber_delta = 1.5;
	of->model.focal_gamma = 1.5;
	of->model.focal_alpha = 0.3;
	of->model.focal_balancing = true;
}

/* Returns an output of the last layer, or a logit: a number within -4 .. 4; for a loss of a chance or of a
 * rate within 0 .. 1. */
static inline float some_output(const char *loss, uint64_t *seed)
{
	const bool positive = !strcmp(loss, "poisson") || !strcmp(loss, "kl_divergence");

	return (float)(positive ? 0.52 + 0.47 * noise(seed) : 4 * noise(seed));
}
