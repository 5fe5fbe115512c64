/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln metrics`: prints the metrics of a box as OpenMetrics text. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"

static int metrics(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *answer = NULL;
	struct error err = { 0 };

	(void)arguments;
	if (client_ask("metrics", NULL, &answer, &err) < 0)
		return client_error(&err);
	fputs(client_text(answer, "text"), stdout);
	return CLI_OK;
}

const struct verb verb_metrics = {
	.name = "metrics",
	.methods = { "metrics" },
	.run = metrics,
};
