/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that change a run: one call each, and one sentence of what came of it. */
#include "cli/client.h"

#include <string.h>
#include <time.h>

static int act(int argc, char **argv, const char *method, const char *done)
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	struct error err = { 0 };
	bool json = false;
	int r = client_arguments(argc, argv, method, NULL, &params, &json);

	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	if (client_ask(method, TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (json)
		return cli_print_json(result);
	puts(done);
	return CLI_OK;
}

int cli_start(int argc, char **argv)
{
	return act(argc, argv, "run.start", "started");
}

int cli_stop(int argc, char **argv)
{
	return act(argc, argv, "run.stop", "the run stops after this step and its checkpoint");
}

int cli_pause(int argc, char **argv)
{
	return act(argc, argv, "run.pause", "the run pauses after this step");
}

int cli_resume(int argc, char **argv)
{
	return act(argc, argv, "run.resume", "the run goes on");
}

static int list_checkpoints(const cJSON *result)
{
	const cJSON *item;

	printf("%-14s  %14s  %-19s  %s\n", "step", "bytes", "written", "in the store");
	cJSON_ArrayForEach(item, client_member(result, "checkpoints")) {
		const cJSON *uploaded = client_member(item, "uploaded");
		time_t at = (time_t)client_number(item, "time_s");
		char when[32] = "-";
		struct tm tm;

		if (localtime_r(&at, &tm))
			(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		printf("%-14.0f  %14.0f  %-19s  %s\n", client_number(item, "step"),
		       client_number(item, "bytes"), when,
		       cJSON_IsTrue(uploaded)    ? "yes"
		       : cJSON_IsFalse(uploaded) ? "not yet"
						 : "-");
	}
	return CLI_OK;
}

int cli_checkpoint(int argc, char **argv)
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	struct error err = { 0 };
	bool json = false, now = argc > 1 && strcmp(argv[1], "now") == 0;
	bool named = now || (argc > 1 && strcmp(argv[1], "list") == 0);
	int r;

	if (now)
		return act(argc - 1, argv + 1, "checkpoint.now", "a checkpoint is written after this step");
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		printf("Usage: kiln checkpoint [list | now] [OPTION...]\n\n");
	r = client_arguments(argc - named, argv + named, "checkpoint.list", NULL, &params, &json);
	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	if (client_ask("checkpoint.list", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	return json ? cli_print_json(result) : list_checkpoints(result);
}
