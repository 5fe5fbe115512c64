/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln log`: the newest lines of the journal, or only the events; with --follow, new events as they are
 * sent. */
#include "cli/base/format.h"
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"
#include "core/base/events.h"

#include <string.h>

/* Prints the fields of a journal entry. The field names are those of journalctl. */
static void print_fields(const cJSON *fields)
{
	const cJSON *field;

	cJSON_ArrayForEach(field, fields) {
		CLEANUP(free_ptr)
		char *text =
			cJSON_IsString(field) ? strdup(field->valuestring) : cJSON_PrintUnformatted(field);

		printf(" %s=", field->string);
		fputs(text ? text : "-", stdout);
	}
}

static void print_entry(const cJSON *entry)
{
	char when[FORMAT_BYTES];

	printf("%s %s: ", format_time(client_number(entry, "time_us") / 1e6, when),
	       client_text(entry, "unit"));
	if (cJSON_IsString(json_member(entry, "event")))
		printf("%s: ", client_text(entry, "event"));
	fputs(client_text(entry, "message"), stdout);
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
		if (!json) {
			json_visible(entry);
			print_entry(entry);
		} else if (json_print_line(entry, &line, &err) == 0) {
			fputs(line, stdout);
		}
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

static int reference(const struct arguments *arguments)
{
	(void)arguments;
	event_reference(stdout);
	return CLI_OK;
}

static const struct verb log_reference = {
	.name = "reference",
	.summary = "print every event, its fields and its MESSAGE_ID, as Markdown",
	.here = true,
	.run = reference,
};

static int log_verb(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *params = NULL;
	int r;

	if (!arguments_have(arguments, "follow"))
		return call_run(arguments, "log.tail", print_entries);
	r = call_params(arguments, "events.subscribe", &params);
	return r == CLI_OK ? follow(TAKE(params), arguments_have(arguments, "json")) : r;
}

static const struct verb_option options[] = {
	{ .name = "follow",
	  .help = "print new events as they come, until the verb is stopped; allowed together with --event, "
		  "--since and --json" },
	{ 0 },
};

static const struct verb *const subs[] = { &log_reference, NULL };

const struct verb verb_log = {
	.name = "log",
	.synopsis = "log [OPTION...]\n"
		    "log --follow [--event NAME] [--since CURSOR] [--json]",
	.methods = { "log.tail", "events.subscribe" },
	.options = { options, call_options },
	.subs = subs,
	.run = log_verb,
};
