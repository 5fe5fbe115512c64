/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/say.h"

#include <stdarg.h>
#include <stdio.h>

int cli_error(const struct error *err)
{
	fprintf(stderr, "kiln: %s\n", err->text);
	return CLI_ERROR;
}

int cli_usage(const char *verb, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "kiln %s: ", verb);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nSee kiln %s --help\n", verb);
	return CLI_USAGE;
}

int cli_print_json_line(const cJSON *json)
{
	CLEANUP(free_ptr) char *line = NULL;
	struct error err = { 0 };

	if (json_print_line(json, &line, &err) < 0)
		return cli_error(&err);
	fputs(line, stdout);
	return CLI_OK;
}

int cli_print_json(const cJSON *json)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };

	if (json_print(json, &text, &err) < 0)
		return cli_error(&err);
	puts(text);
	return CLI_OK;
}
