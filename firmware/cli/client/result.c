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

void client_print(const char *text, FILE *out)
{
	for (; *text; text++)
		(void)fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
}

int client_print_json(const cJSON *json)
{
	CLEANUP(free_ptr) char *line = NULL;
	struct error err = { 0 };

	if (!client_one_of_many())
		return cli_print_json(json);
	if (json_print_line(json, &line, &err) < 0)
		return cli_error(&err);
	fputs(line, stdout);
	return CLI_OK;
}
