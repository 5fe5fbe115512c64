/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs/act.h"

#include "cli/base/say.h"
#include "cli/client/host.h"
#include "cli/client/result.h"

#include <string.h>

const struct verb_option act_options[] = {
	{ .name = "yes", .help = "do not ask for confirmation; needed without a terminal" },
	{ 0 },
};

/* Asks the user to confirm. Returns CLI_OK where the user types yes, otherwise the exit code of the verb. */
static int make_sure(const struct arguments *arguments, const char *danger)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || client_one_of_many())
		return cli_usage(arguments->name, "%s; there is no terminal to ask, so --yes is needed",
				 danger);
	fprintf(stderr, "%s: %s; type yes to go on: ", client_used() ? client_used()->name : "this box",
		danger);
	if (fgets(answer, sizeof(answer), stdin) && strcmp(answer, "yes\n") == 0)
		return CLI_OK;
	fputs("kiln: nothing was done\n", stderr);
	return CLI_ERROR;
}

int act_run(const struct arguments *arguments, const struct act *act, const char *url)
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	struct error err = { 0 };
	int r = call_params(arguments, act->method, &params);

	if (r == CLI_OK && act->danger && !arguments_have(arguments, "yes"))
		r = make_sure(arguments, act->danger);
	if (r != CLI_OK)
		return r;
	if (url)
		(void)cJSON_ReplaceItemInObjectCaseSensitive(params, "url", json_string(url));
	if (client_ask(act->method, TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (arguments_have(arguments, "json"))
		return client_print_json(result);
	puts(act->done);
	return CLI_OK;
}
