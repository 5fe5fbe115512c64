/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln cache`: what the cache of shards holds, and what shall be in it. */
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/result.h"
#include "cli/verbs/verbs.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const char usage[] =
	"Usage: kiln cache [status]               what it holds   (--json)\n"
	"       kiln cache preload [--no-wait]    fill it with what the next run reads\n"
	"       kiln cache pin s3://BUCKET/PREFIX  never evict what lies there   (--remove: do)\n"
	"       kiln cache drop s3://BUCKET/PREFIX | --all\n\n"
	"Its size is fetch.cache_bytes of kiln.conf; 0 = there is none.\n";

/* ---- status ---- */

static double giga(const cJSON *object, const char *path)
{
	return client_number(object, path) / 1e9;
}

static void print_preload(const cJSON *preload)
{
	char when[32] = "-";
	time_t at = (time_t)client_number(preload, "updated_s");
	struct tm tm;

	if (!cJSON_IsObject(preload))
		return;
	if (localtime_r(&at, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	printf("preload    %s, %s: %.0f of %.0f objects, %.3f of %.3f GB", client_text(preload, "state"),
	       when, client_number(preload, "objects_done"), client_number(preload, "objects"),
	       giga(preload, "bytes_done"), giga(preload, "bytes"));
	if (*client_text(preload, "text")) {
		fputs("; ", stdout);
		client_print(client_text(preload, "text"), stdout);
	}
	putchar('\n');
}

static int print_status(const cJSON *result)
{
	const cJSON *pin, *run = json_member(result, "run");

	printf("holds      %.0f objects, %.3f GB\n", client_number(result, "objects"), giga(result, "bytes"));
	if (client_number(result, "budget_bytes") > 0)
		printf("budget     %.3f GB; %.3f GB stay free on its disk, which has %.3f GB\n",
		       giga(result, "budget_bytes"), giga(result, "spare_bytes"), giga(result, "free_bytes"));
	else
		puts("budget     none: fetch.cache_bytes is 0");
	if (cJSON_IsObject(run))
		printf("run        %.0f shards from the cache, %.0f from the store, %.0f written\n",
		       client_number(run, "hits"), client_number(run, "misses"), client_number(run, "kept"));
	cJSON_ArrayForEach(pin, json_member(result, "pins")) {
		fputs("pinned     ", stdout);
		client_print(client_text(pin, "url"), stdout);
		printf("  %.0f objects, %.3f GB\n", client_number(pin, "objects"), giga(pin, "bytes"));
	}
	print_preload(json_member(result, "preload"));
	return CLI_OK;
}

static int status(int argc, char **argv)
{
	return client_verb(argc, argv, "cache.status", NULL, print_status);
}

/* ---- preload ---- */

#define POLL_NS   500000000
#define BEGIN_S   60  /* in which it says its first word */
#define SILENCE_S 900 /* in which it says another: one object may take long */

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

/* Until one that began after `before_us` is over. */
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
	fputs("kiln: nothing is heard of it; kiln log --unit preload tells why\n", stderr);
	return CLI_ERROR;
}

static int preload(int argc, char **argv)
{
	CLEANUP(json_free) cJSON *params = NULL, *before = NULL, *result = NULL;
	struct error err = { 0 };
	bool json = false, no_wait = client_flag(&argc, argv, "--no-wait");
	int r = client_arguments(argc, argv, "cache.preload", NULL, &params, &json);
	double before_us = 0;

	if (r != CLI_OK)
		return r < 0 ? CLI_OK : r;
	/* Without a folder there was none before. */
	if (ask(&before, &err) == 0)
		before_us = fmax(0, client_number(before, "preload.started_us"));
	if (client_ask("cache.preload", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (!no_wait)
		return wait_for_preload(before_us, json);
	return json ? client_print_json(result) : (puts("started; kiln cache tells how it goes"), CLI_OK);
}

/* ---- pin, drop ---- */

static int print_pinned(const cJSON *result)
{
	puts(cJSON_IsTrue(json_member(result, "changed")) ? "done" : "it was so already");
	return CLI_OK;
}

static int pin(int argc, char **argv)
{
	return client_verb(argc, argv, "cache.pin", "prefix", print_pinned);
}

static int print_dropped(const cJSON *result)
{
	printf("%.0f objects removed, %.3f GB\n", client_number(result, "objects"), giga(result, "bytes"));
	return CLI_OK;
}

static int drop(int argc, char **argv)
{
	return client_verb(argc, argv, "cache.drop", "prefix", print_dropped);
}

int cli_cache(int argc, char **argv)
{
	static char name_of[4][16] = { "cache status", "cache preload", "cache pin", "cache drop" };
	static int (*const run[])(int argc, char **argv) = { status, preload, pin, drop };

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return CLI_OK;
	}
	for (int i = 0; argc > 1 && i < 4; i++)
		if (strcmp(argv[1], name_of[i] + sizeof("cache")) == 0) {
			argv[1] = name_of[i];
			return run[i](argc - 1, argv + 1);
		}
	if (argc > 1 && argv[1][0] != '-')
		return cli_usage("cache", "\"%s\" is none of status, preload, pin, drop", argv[1]);
	return status(argc, argv);
}
