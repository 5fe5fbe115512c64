/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln status`: prints the state of a box, its run and the last night on one screen. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/host.h"
#include "cli/client/result.h"
#include "cli/verbs/screen.h"
#include "cli/verbs/verbs.h"

static void print_text(cJSON *answer)
{
	json_visible(answer);
	if (client_one_of_many())
		screen_print_brief(answer, stdout);
	else
		screen_print(answer, stdout);
}

static int status(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *answer = NULL;
	struct error err = { 0 };

	if (client_ask("status", NULL, &answer, &err) < 0)
		return client_error(&err);
	if (arguments_have(arguments, "json"))
		(void)client_print_json(answer);
	else
		print_text(answer);
	return screen_exit_code(answer);
}

const struct verb verb_status = {
	.name = "status",
	.methods = { "status" },
	.options = { call_options },
	.exits = screen_exits,
	.run = status,
};
