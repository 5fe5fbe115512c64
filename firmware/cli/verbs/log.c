/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln log`: the journal's newest lines, or events alone; with --follow, events as they come. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"
#include "core/base/events.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* By the names that journalctl takes. */
static void print_fields(const cJSON *fields)
{
	const cJSON *field;

	cJSON_ArrayForEach(field, fields) {
		CLEANUP(free_ptr)
		char *text =
			cJSON_IsString(field) ? strdup(field->valuestring) : cJSON_PrintUnformatted(field);

		printf(" %s=", field->string);
		client_print(text ? text : "-", stdout);
	}
}

static void print_entry(const cJSON *entry)
{
	double time_us = client_number(entry, "time_us");
	time_t at = isnan(time_us) ? 0 : (time_t)(time_us / 1e6);
	char when[32] = "-";
	struct tm tm;

	if (localtime_r(&at, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	printf("%s %s: ", when, client_text(entry, "unit"));
	if (cJSON_IsString(json_member(entry, "event")))
		printf("%s: ", client_text(entry, "event"));
	client_print(client_text(entry, "message"), stdout);
	print_fields(json_member(entry, "fields"));
	(void)putchar('\n');
}

static int follow(cJSON *params, bool json)
{
	CLEANUP(client_closep) struct client *client = NULL;
	CLEANUP(json_free) cJSON *result = NULL;
	struct error err = { 0 };
	int r = client_open(&client, &err);

	if (r < 0)
		cJSON_Delete(params);
	else
		r = client_call(client, "events.subscribe", params, &result, &err);
	while (r == 0) {
		CLEANUP(json_free) cJSON *entry = NULL;
		CLEANUP(free_ptr) char *line = NULL;

		r = client_event(client, &entry, &err);
		if (r < 0)
			break;
		if (!json)
			print_entry(entry);
		else if (json_print_line(entry, &line, &err) == 0)
			fputs(line, stdout);
		(void)fflush(stdout);
	}
	return client_error(&err);
}

static int print_entries(const cJSON *result)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, json_member(result, "entries"))
		print_entry(entry);
	return CLI_OK;
}

int cli_log(int argc, char **argv)
{
	CLEANUP(json_free) cJSON *params = NULL;
	bool json = false, follows = argc > 1 && strcmp(argv[1], "--follow") == 0;
	int r;

	if (argc == 2 && strcmp(argv[1], "reference") == 0) {
		event_reference(stdout);
		return CLI_OK;
	}
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		printf("Usage: kiln log --follow [--event NAME] [--since CURSOR]   events as they come\n"
		       "       kiln log reference   every event, its fields and its MESSAGE_ID, as "
		       "Markdown\n");
	if (!follows)
		return client_verb(argc, argv, "log.tail", NULL, print_entries);
	r = client_arguments(argc - 1, argv + 1, "events.subscribe", NULL, &params, &json);
	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	return follow(TAKE(params), json);
}
