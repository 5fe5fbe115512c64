/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln stalls`: prints which stages of the data path made the device wait. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"
#include "core/box/ranks_text.h"

#define LEAST_SHARE 0.0005 /* stages with a smaller share of the time are not printed */

static void print_now(const cJSON *stalls)
{
	const char *stage = client_text(stalls, "now.stage");

	if (cJSON_IsFalse(json_member(stalls, "at_work"))) {
		printf("%-11s%s\n", "now", "kiln-fetchd has ended; these are its last figures");
		return;
	}
	if (!cJSON_IsObject(json_member(stalls, "now"))) {
		printf("%-11s%s\n", "now", "the trainer does not wait for data");
		return;
	}
	printf("%-11sthe trainer waits: %s", "now", stage);
	if (cJSON_IsString(json_member(stalls, "now.key"))) {
		fputs(" of ", stdout);
		fputs(client_text(stalls, "now.key"), stdout);
	}
	(void)putchar('\n');
}

static void print_stages(const cJSON *stalls, double total_s)
{
	const cJSON *stage, *worst = NULL;
	double waited_s = 0;

	cJSON_ArrayForEach(stage, json_member(stalls, "stages")) {
		double s = client_number(stage, "waited_s");

		waited_s += s;
		if (!worst || s > client_number(worst, "waited_s"))
			worst = stage;
	}
	printf("%-11s%.1f s of %.1f s, %.1f %%\n", "waited", waited_s, total_s, 100 * waited_s / total_s);
	cJSON_ArrayForEach(stage, json_member(stalls, "stages")) {
		double s = client_number(stage, "waited_s");

		if (s > total_s * LEAST_SHARE)
			printf("  %-11s%8.1f s %5.1f %%  %s\n", client_text(stage, "stage"), s,
			       100 * s / total_s, client_text(stage, "means"));
	}
	if (worst && client_number(worst, "waited_s") > total_s * LEAST_SHARE)
		printf("%-11s%s\n", "most", client_text(worst, "means"));
}

static int print_stalls(const cJSON *stalls)
{
	if (!cJSON_IsString(json_member(stalls, "run"))) {
		puts("no run has fetched data since this box started");
		return CLI_IDLE;
	}
	printf("%-11s%s\n", "run", client_text(stalls, "run"));
	print_now(stalls);
	print_stages(stalls, client_number(stalls, "observed_s"));
	printf("%-11s%.1f s: the trainer was the slower side\n", "ring full",
	       client_number(stalls, "ring_full_s"));
	printf("%-11s%.0f of at most %.0f, %.1f MiB each: %s\n", "requests",
	       client_number(stalls, "tuning.requests_in_flight"),
	       client_number(stalls, "tuning.requests_in_flight_max"),
	       client_number(stalls, "tuning.request_bytes") / (1 << 20),
	       client_text(stalls, "tuning.requests_why"));
	printf("%-11s%.0f ranges requested twice; the second request was faster for %.0f\n", "hedging",
	       client_number(stalls, "tuning.hedged"), client_number(stalls, "tuning.hedges_won"));
	printf("%-11s%.0f of %.0f: %s\n", "workers", client_number(stalls, "tuning.workers"),
	       client_number(stalls, "tuning.workers_max"), client_text(stalls, "tuning.workers_why"));
	printf("%-11s%.0f of at most %.0f windows: %s\n", "read ahead",
	       client_number(stalls, "tuning.windows_ahead"),
	       client_number(stalls, "tuning.windows_ahead_max"),
	       client_text(stalls, "tuning.windows_ahead_why"));
	printf("%-11s%.0f MiB in memory, %.0f MiB on disk\n", "windows",
	       client_number(stalls, "tuning.windows_memory_bytes") / (1 << 20),
	       client_number(stalls, "tuning.windows_disk_bytes") / (1 << 20));
	ranks_text_print(json_member(stalls, "ranks"), stdout);
	return CLI_OK;
}

static int stalls(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *result = NULL;
	struct error err = { 0 };
	int r;

	if (client_ask("stalls", cJSON_CreateObject(), &result, &err) < 0)
		return client_error(&err);
	if (!arguments_have(arguments, "json")) {
		json_visible(result);
		return print_stalls(result);
	}
	r = client_print_json(result);
	return r == CLI_OK && !cJSON_IsString(json_member(result, "run")) ? CLI_IDLE : r;
}

static const struct verb_exit exits[] = { { CLI_IDLE, "no run has fetched data since the box started" },
					  { 0 } };

const struct verb verb_stalls = {
	.name = "stalls",
	.methods = { "stalls" },
	.options = { call_options },
	.exits = exits,
	.run = stalls,
};
