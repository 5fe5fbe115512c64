/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs that change a run: one call each, and one sentence of what came of it. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/host.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"

#include <string.h>
#include <time.h>

/* CLI_OK: yes; else the exit code. */
static int make_sure(const char *verb, const char *danger)
{
	const struct client_host *host = client_used();
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || (client_one_of_many()))
		return cli_usage(verb, "%s: --yes is needed where nobody can be asked", danger);
	fprintf(stderr, "%s: %s; type yes to go on: ", host ? host->name : "this box", danger);
	if (fgets(answer, sizeof(answer), stdin) && strcmp(answer, "yes\n") == 0)
		return CLI_OK;
	fputs("kiln: nothing was done\n", stderr);
	return CLI_ERROR;
}

/* `danger`: nobody should call it by mistake, and why; NULL = they may. */
static int act_on(int argc, char **argv, const char *method, const char *positional, const char *danger,
		  const char *done)
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	struct error err = { 0 };
	bool json = false, sure = !danger || client_flag(&argc, argv, "--yes");
	int r = client_arguments(argc, argv, method, positional, &params, &json);

	if (r < 0 && danger)
		puts("It asks first, or wants --yes.");
	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	if (!sure && (r = make_sure(argv[0], danger)) != CLI_OK)
		return r;
	if (client_ask(method, TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (json)
		return client_print_json(result);
	puts(done);
	return CLI_OK;
}

static int act(int argc, char **argv, const char *method, const char *danger, const char *done)
{
	return act_on(argc, argv, method, NULL, danger, done);
}

int cli_start(int argc, char **argv)
{
	return act(argc, argv, "run.start", NULL, "started");
}

int cli_stop(int argc, char **argv)
{
	return act(argc, argv, "run.stop", NULL, "the run stops after this step and its checkpoint");
}

int cli_pause(int argc, char **argv)
{
	return act(argc, argv, "run.pause", NULL, "the run pauses after this step");
}

int cli_resume(int argc, char **argv)
{
	return act(argc, argv, "run.resume", NULL, "the run goes on");
}

/* A path is one on the box that is asked: this one's becomes a URL here, another's has to be whole. */
static int url_of_path(const char *given, char url[static PATH_BYTES])
{
	char path[PATH_BYTES];

	if (!client_used() && !realpath(given, path)) {
		fprintf(stderr, "kiln update: %s: %s\n", given, strerror(errno));
		return CLI_ERROR;
	}
	if (client_used() && *given != '/')
		return cli_usage(
			"update",
			"%s: with --host a bundle is a URL that the box reaches, s3://BUCKET/KEY, or "
			"/PATH on the box",
			given);
	if ((size_t)snprintf(url, PATH_BYTES, "file://%s", client_used() ? given : path) >= PATH_BYTES)
		return cli_usage("update", "%s: the path is too long", given);
	return CLI_OK;
}

int cli_update(int argc, char **argv)
{
	char url[PATH_BYTES];

	for (int i = 1; i < argc; i++) {
		int r;

		if (strcmp(argv[i], "--idempotency_key") == 0 || strcmp(argv[i], "--url") == 0)
			i++;
		else if (*argv[i] != '-' && *argv[i] && !strstr(argv[i], "://")) {
			if ((r = url_of_path(argv[i], url)) != CLI_OK)
				return r;
			argv[i] = url;
			break;
		}
	}
	return act_on(argc, argv, "update.install", "url",
		      "it installs another version, and restarts the box when no run goes on",
		      "the update is being fetched; kiln status tells how it goes");
}

int cli_factory_reset(int argc, char **argv)
{
	return act(argc, argv, "factory.reset", "all that it holds is erased", "the box is being reset");
}

int cli_power(int argc, char **argv)
{
	static char name[] = "power off";

	if (argc > 1 && strcmp(argv[1], "off") == 0) {
		argv[1] = name;
		return act(argc - 1, argv + 1, "power.off", "it switches itself off",
			   "the box is being switched off");
	}
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		puts("Usage: kiln power off [OPTION...]");
		return CLI_OK;
	}
	return cli_usage("power", "which: off?");
}

static int print_checkpoints(const cJSON *result)
{
	const cJSON *item;

	printf("%-14s  %14s  %-19s  %s\n", "step", "bytes", "written", "in the store");
	cJSON_ArrayForEach(item, json_member(result, "checkpoints")) {
		const cJSON *uploaded = json_member(item, "uploaded");
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
	static char name[] = "checkpoint now";
	bool now = argc > 1 && strcmp(argv[1], "now") == 0;
	bool named = now || (argc > 1 && strcmp(argv[1], "list") == 0);

	if (now) {
		argv[1] = name;
		return act(argc - 1, argv + 1, "checkpoint.now", NULL,
			   "a checkpoint is written after this step");
	}
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		printf("Usage: kiln checkpoint [list | now] [OPTION...]\n\n");
	return client_verb(argc - named, argv + named, "checkpoint.list", NULL, print_checkpoints);
}
