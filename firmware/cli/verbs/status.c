/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln status`: what an operator asks at breakfast, on one screen. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/host.h"
#include "cli/client/result.h"
#include "cli/verbs/screen.h"
#include "cli/verbs/verbs.h"

int cli_status(int argc, char **argv)
{
	CLEANUP(json_free) cJSON *params = NULL, *status = NULL;
	struct error err = { 0 };
	bool json = false;
	int r = client_arguments(argc, argv, "status", NULL, &params, &json);

	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	if (client_ask("status", TAKE(params), &status, &err) < 0)
		return client_error(&err);
	if (json)
		(void)client_print_json(status);
	else if (client_one_of_many())
		screen_print_brief(status, stdout);
	else
		screen_print(status, stdout);
	return screen_exit_code(status);
}
