/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/dataset.h"

cJSON *dataset_classes(const cJSON *dataset)
{
	cJSON *classes = cJSON_GetObjectItemCaseSensitive(dataset, "classes");

	return cJSON_IsArray(classes) ? classes : NULL;
}

const char *dataset_class(const cJSON *dataset, uint64_t class)
{
	return class > INT32_MAX
		       ? NULL
		       : cJSON_GetStringValue(cJSON_GetArrayItem(dataset_classes(dataset), (int)class));
}
