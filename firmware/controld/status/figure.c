/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/figure.h"

#include <math.h>

void figure_number(cJSON *object, const char *key, double value)
{
	if (isfinite(value))
		(void)cJSON_AddNumberToObject(object, key, value);
	else
		(void)cJSON_AddNullToObject(object, key);
}

void figure_count(cJSON *object, const char *key, bool known, uint64_t value)
{
	if (known)
		(void)json_add_u64(object, key, value);
	else
		(void)cJSON_AddNullToObject(object, key);
}

void figure_text(cJSON *object, const char *key, const char *text)
{
	(void)cJSON_AddItemToObject(object, key, text ? json_string(text) : cJSON_CreateNull());
}
