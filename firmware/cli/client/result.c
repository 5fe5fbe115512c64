/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client/result.h"

#include "cli/base/say.h"
#include "cli/client/host.h"

#include <math.h>

const char *client_text(const cJSON *object, const char *path)
{
	const char *text = cJSON_GetStringValue(json_member(object, path));

	return text ? text : "-";
}

double client_number(const cJSON *object, const char *path)
{
	const cJSON *item = json_member(object, path);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

int client_print_json(const cJSON *json)
{
	return client_one_of_many() ? cli_print_json_line(json) : cli_print_json(json);
}
