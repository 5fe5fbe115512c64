/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/steps.h"

#include <stdlib.h>

#define STEPS_MAX   1000000u
#define STEPS_FIRST 64u

int steps_add(struct steps *steps, uint64_t step, struct error *err)
{
	if (steps_has(steps, step))
		return 0;
	if (steps->count == steps->size) {
		uint32_t size = steps->size ? 2 * steps->size : STEPS_FIRST;
		uint64_t *grown = size <= STEPS_MAX ? realloc(steps->step, size * sizeof(*grown)) : NULL;

		if (!grown)
			return error_set(err, -ENOMEM, "no memory for %u checkpoints", size);
		steps->step = grown;
		steps->size = size;
	}
	steps->step[steps->count++] = step;
	return 0;
}

void steps_remove(struct steps *steps, uint64_t step)
{
	for (uint32_t i = 0; i < steps->count; i++)
		if (steps->step[i] == step)
			steps->step[i--] = steps->step[--steps->count];
}

bool steps_has(const struct steps *steps, uint64_t step)
{
	for (uint32_t i = 0; i < steps->count; i++)
		if (steps->step[i] == step)
			return true;
	return false;
}

void steps_done(struct steps *steps)
{
	free(steps->step);
	*steps = (struct steps){ 0 };
}
