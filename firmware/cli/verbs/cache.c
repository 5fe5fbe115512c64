/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln cache`: shows the cache of shards, fills it, pins and drops objects. */
#include "cli/base/format.h"
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* ---- status ---- */

static double giga(const cJSON *object, const char *path)
{
	return client_number(object, path) / 1e9;
}

static void print_preload(const cJSON *preload)
{
	char when[FORMAT_BYTES];

	if (!cJSON_IsObject(preload))
		return;
	printf("preload    %s, %s: %.0f of %.0f objects, %.3f of %.3f GB", client_text(preload, "state"),
	       format_time(client_number(preload, "updated_s"), when), client_number(preload, "objects_done"),
	       client_number(preload, "objects"), giga(preload, "bytes_done"), giga(preload, "bytes"));
	if (*client_text(preload, "text")) {
		fputs("; ", stdout);
		fputs(client_text(preload, "text"), stdout);
	}
	putchar('\n');
}

static int print_status(const cJSON *result)
{
	const cJSON *pin, *run = json_member(result, "run");

	printf("holds      %.0f objects, %.3f GB\n", client_number(result, "objects"), giga(result, "bytes"));
	if (client_number(result, "budget_bytes") > 0)
		printf("budget     %.3f GB; %.3f GB of its disk stay free, %.3f GB are free now\n",
		       giga(result, "budget_bytes"), giga(result, "spare_bytes"), giga(result, "free_bytes"));
	else
		puts("budget     none: fetch.cache_bytes is 0");
	if (cJSON_IsObject(run))
		printf("run        %.0f shards from the cache, %.0f from the store, %.0f written\n",
		       client_number(run, "hits"), client_number(run, "misses"), client_number(run, "kept"));
	cJSON_ArrayForEach(pin, json_member(result, "pins")) {
		fputs("pinned     ", stdout);
		fputs(client_text(pin, "url"), stdout);
		printf("  %.0f objects, %.3f GB\n", client_number(pin, "objects"), giga(pin, "bytes"));
	}
	print_preload(json_member(result, "preload"));
	return CLI_OK;
}

static int status(const struct arguments *arguments)
{
	return call_run(arguments, "cache.status", print_status);
}

static const struct verb cache_status = {
	.name = "status",
	.methods = { "cache.status" },
	.options = { call_options },
	.run = status,
};

/* ---- preload ---- */

#define POLL_NS   500000000
#define BEGIN_S   60  /* longest wait until a preload begins */
#define SILENCE_S 900 /* longest time between two reports of a running preload: one object may take long */

static void show_progress(const cJSON *preload)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%.0f of %.0f objects, %.3f of %.3f GB ",
			client_number(preload, "objects_done"), client_number(preload, "objects"),
			giga(preload, "bytes_done"), giga(preload, "bytes"));
}

static int say_over(const cJSON *preload, bool json)
{
	if (isatty(STDERR_FILENO))
		(void)fputc('\n', stderr);
	if (json)
		(void)client_print_json(preload);
	else
		print_preload(preload);
	return strcmp(client_text(preload, "state"), "finished") == 0 ? CLI_OK : CLI_ERROR;
}

static int ask(cJSON **ret_status, struct error *err)
{
	return client_ask("cache.status", NULL, ret_status, err);
}

/* Waits until a preload that began later than `before_us` has ended, and prints its progress. */
static int wait_for_preload(double before_us, bool json)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	double asked_s = NAN;

	for (;; (void)nanosleep(&pause, NULL)) {
		CLEANUP(json_free) cJSON *status = NULL;
		struct error err = { 0 };
		const cJSON *preload;
		double now_s;

		if (ask(&status, &err) < 0)
			return client_error(&err);
		if (!json)
			json_visible(status);
		preload = json_member(status, "preload");
		now_s = client_number(status, "time_s");
		asked_s = isnan(asked_s) ? now_s : asked_s;
		if (!(client_number(preload, "started_us") > before_us)) {
			if (now_s - asked_s > BEGIN_S)
				break;
			continue;
		}
		show_progress(preload);
		if (strcmp(client_text(preload, "state"), "running") != 0)
			return say_over(preload, json);
		if (now_s - client_number(preload, "updated_s") > SILENCE_S)
			break;
	}
	fputs("kiln: the preload has reported no progress for too long; kiln log --unit preload shows why\n",
	      stderr);
	return CLI_ERROR;
}

static int preload(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *params = NULL, *before = NULL, *result = NULL;
	const bool json = arguments_have(arguments, "json");
	struct error err = { 0 };
	double before_us = 0;
	int r = call_params(arguments, "cache.preload", &params);

	if (r != CLI_OK)
		return r;
	/* Ignore an error: without a cache folder there was no earlier preload. */
	if (ask(&before, &err) == 0)
		before_us = fmax(0, client_number(before, "preload.started_us"));
	if (client_ask("cache.preload", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (!arguments_have(arguments, "no-wait"))
		return wait_for_preload(before_us, json);
	return json ? client_print_json(result) : (puts("started; kiln cache shows the progress"), CLI_OK);
}

static const struct verb_option preload_options[] = {
	{ .name = "no-wait", .help = "return at once; kiln cache shows the progress" },
	{ 0 },
};

static const struct verb cache_preload = {
	.name = "preload",
	.methods = { "cache.preload", "cache.status" },
	.options = { preload_options, call_options },
	.run = preload,
};

/* ---- pin, drop ---- */

static const struct verb_operand prefixes[] = {
	{ .name = "s3://BUCKET/PREFIX", .value = VERB_URL, .optional = true },
	{ 0 },
};

static int print_pinned(const cJSON *result)
{
	puts(cJSON_IsTrue(json_member(result, "changed")) ? "done" : "nothing to change");
	return CLI_OK;
}

static int pin(const struct arguments *arguments)
{
	return call_run(arguments, "cache.pin", print_pinned);
}

static const struct verb cache_pin = {
	.name = "pin",
	.synopsis = "cache pin s3://BUCKET/PREFIX [--remove] [OPTION...]",
	.methods = { "cache.pin" },
	.positional = "prefix",
	.operands = prefixes,
	.options = { call_options },
	.run = pin,
};

static int print_dropped(const cJSON *result)
{
	printf("%.0f objects removed, %.3f GB\n", client_number(result, "objects"), giga(result, "bytes"));
	return CLI_OK;
}

static int drop(const struct arguments *arguments)
{
	return call_run(arguments, "cache.drop", print_dropped);
}

static const struct verb cache_drop = {
	.name = "drop",
	.synopsis = "cache drop (s3://BUCKET/PREFIX | --all) [OPTION...]",
	.methods = { "cache.drop" },
	.positional = "prefix",
	.operands = prefixes,
	.options = { call_options },
	.run = drop,
};

static const struct verb *const subs[] = { &cache_status, &cache_preload, &cache_pin, &cache_drop, NULL };

const struct verb verb_cache = {
	.name = "cache",
	.summary = "show, fill, pin or drop the cache of shards",
	.about = "fetch.cache_bytes in kiln.conf sets the size of the cache; with 0 the box has no cache.",
	.subs = subs,
	.otherwise = "status",
};
