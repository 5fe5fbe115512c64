/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln metrics`: prints the metrics of a box as OpenMetrics text. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"
#include "core/base/visible.h"

#include <string.h>

static int metrics(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *answer = NULL;
	CLEANUP(free_ptr) char *shown = NULL;
	const char *text;
	struct error err = { 0 };

	(void)arguments;
	if (client_ask("metrics", NULL, &answer, &err) < 0)
		return client_error(&err);
	text = client_text(answer, "text");
	shown = malloc(VISIBLE_TIMES * strlen(text) + 1);
	if (!shown)
		return CLI_ERROR;
	fputs(visible_lines(text, shown, VISIBLE_TIMES * strlen(text) + 1), stdout);
	return CLI_OK;
}

const struct verb verb_metrics = {
	.name = "metrics",
	.methods = { "metrics" },
	.run = metrics,
};
