/* SPDX-License-Identifier: Apache-2.0 */
#include "model/formats/names.h"

#include <string.h>

bool name_is_parameter(const char *name)
{
	return strncmp(name, "optimizer/", 10) != 0 && strncmp(name, "state/", 6) != 0;
}

const struct model_tensor *name_find(const struct model_tensor *tensors, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return &tensors[i];
	return NULL;
}
