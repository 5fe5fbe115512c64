/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a tensor of a model's state by name. Include it after cmocka.h. The numbers are valid until the
 * next snapshot. */
#pragma once

#include "model/model.h"

#include <string.h>

static const float *state_of(struct model *model, const char *name)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;

	if (model_snapshot(model, &err) < 0 || model_snapshot_tensors(model, &tensors, &count, &err) < 0)
		fail_msg("%s", err.text);
	model_snapshot_release(model);
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return tensors[i].data;
	fail_msg("no %s", name);
	return NULL;
}
