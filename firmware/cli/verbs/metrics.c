/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln metrics`: the figures of a box as OpenMetrics text. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"

int cli_metrics(int argc, char **argv)
{
	CLEANUP(json_free) cJSON *params = NULL, *metrics = NULL;
	struct error err = { 0 };
	int r = client_arguments(argc, argv, "metrics", NULL, &params, NULL);

	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	if (client_ask("metrics", TAKE(params), &metrics, &err) < 0)
		return client_error(&err);
	fputs(client_text(metrics, "text"), stdout);
	return CLI_OK;
}
