/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln checkpoint`: lists the checkpoints of the current run, or makes the run write one. */
#include "cli/base/format.h"
#include "cli/base/say.h"
#include "cli/client/result.h"
#include "cli/verbs/act.h"
#include "cli/verbs/verbs.h"

static int print_checkpoints(const cJSON *result)
{
	const cJSON *item, *list = json_member(result, "checkpoints");

	if (!cJSON_GetArraySize(list)) {
		puts("there is no checkpoint of this run yet");
		return CLI_OK;
	}
	printf("%-14s  %14s  %-19s  %-7s  %s\n", "step", "bytes", "written", "on disk", "in the store");
	cJSON_ArrayForEach(item, list) {
		const cJSON *uploaded = json_member(item, "uploaded");
		char when[FORMAT_BYTES], bytes[FORMAT_BYTES];

		printf("%-14.0f  %14s  %-19s  %-7s  %s\n", client_number(item, "step"),
		       format_number(client_number(item, "bytes"), "%.0f", bytes),
		       format_time(client_number(item, "time_s"), when),
		       cJSON_IsFalse(json_member(item, "on_disk")) ? "no" : "yes",
		       cJSON_IsTrue(uploaded)    ? "yes"
		       : cJSON_IsFalse(uploaded) ? "not yet"
						 : "-");
	}
	return CLI_OK;
}

static int list(const struct arguments *arguments)
{
	return call_run(arguments, "checkpoint.list", print_checkpoints);
}

static const struct verb checkpoint_list = {
	.name = "list",
	.methods = { "checkpoint.list" },
	.options = { call_options },
	.run = list,
};

static int now(const struct arguments *arguments)
{
	const struct act act = { .method = "checkpoint.now",
				 .done = "a checkpoint is written after this step" };

	return act_run(arguments, &act, NULL);
}

static const struct verb checkpoint_now = {
	.name = "now",
	.methods = { "checkpoint.now" },
	.options = { call_options },
	.run = now,
};

static const struct verb *const subs[] = { &checkpoint_list, &checkpoint_now, NULL };

const struct verb verb_checkpoint = {
	.name = "checkpoint",
	.summary = "list the checkpoints, or write one now",
	.subs = subs,
	.otherwise = "list",
};
