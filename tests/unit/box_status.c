/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the status object, from status pages and records that the test makes: progress, numbers,
 * checkpoints, the state in one word and its reason; the metrics of a status object; and the mark of a run
 * that begins.
 */
#include "controld/status/beginning.c"   // NOLINT(bugprone-suspicious-include)
#include "controld/status/beside.c"      // NOLINT(bugprone-suspicious-include)
#include "controld/status/checkpoints.c" // NOLINT(bugprone-suspicious-include)
#include "controld/status/conf.c"        // NOLINT(bugprone-suspicious-include)
#include "controld/status/figure.c"      // NOLINT(bugprone-suspicious-include)
#include "controld/status/health.c"      // NOLINT(bugprone-suspicious-include)
#include "controld/status/metrics.c"     // NOLINT(bugprone-suspicious-include)
#include "controld/status/node.c"        // NOLINT(bugprone-suspicious-include)
#include "controld/status/stalls.c"      // NOLINT(bugprone-suspicious-include)
#include "controld/status/training.c"    // NOLINT(bugprone-suspicious-include)
#include "controld/status/view.c"        // NOLINT(bugprone-suspicious-include)
#include "controld/status/watch.c"       // NOLINT(bugprone-suspicious-include)
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOW_US UINT64_C(1767225600000000)
#define RUN    "night-20260101-023000"

cJSON *status_object(struct box *box)
{
	(void)box;
	return NULL;
}

/* Checks one member, written as text: "0.5", "null", "\"running\"". */
static void assert_member(const cJSON *object, const char *path, const char *expected)
{
	const cJSON *item = json_member(object, path);
	CLEANUP(free_ptr) char *found = item ? cJSON_PrintUnformatted(item) : strdup("nothing");

	if (strcmp(found, expected) != 0)
		fail_msg("%s: found %s, expected %s", path, found, expected);
}

static struct status trainer(void)
{
	struct status page = { .pid = getpid(),
			       .started_us = NOW_US - 100000000,
			       .updated_us = NOW_US,
			       .run_id = RUN,
			       .phase = "training",
			       .text = "epoch 2 of 4",
			       .traind = { .epoch = 1,
					   .epochs = 4,
					   .step = 150,
					   .epoch_step = 50,
					   .epoch_steps = 100,
					   .loss = 0.5,
					   .accuracy = 0.75,
					   .validation_loss = NAN,
					   .validation_accuracy = NAN,
					   .throttled_us = 1500000 } };

	return page;
}

/* ---- Figures ---- */

static void test_a_run_at_work(void **state)
{
	struct box box = { 0 };
	struct status page = trainer();
	struct view view = { .box = &box, .id = RUN, .state = "running", .traind = &page, .now_us = NOW_US };
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(json_free)
	cJSON *record = cJSON_Parse("{\"id\":\"" RUN
				    "\",\"state\":\"running\",\"epochs\":[{\"step\":100,\"loss\":9}]}");

	(void)state;
	view.record = record;
	training_add_run(object, &view);
	training_add_work(object, &view);
	assert_member(object, "run.id", "\"" RUN "\"");
	assert_member(object, "run.reason", "null");
	assert_member(object, "run.epochs_done", "1");
	assert_member(object, "progress.epoch", "2");
	assert_member(object, "progress.epochs", "4");
	assert_member(object, "progress.step", "150");
	assert_member(object, "progress.percent", "37.5");
	assert_member(object, "progress.eta_s", "null"); /* a rate needs two samples */
	assert_member(object, "rates.records_per_s", "null");
	assert_member(object, "loss", "0.5");
	assert_member(object, "validation_loss", "null");
	assert_member(object, "checkpoint.step", "null");
	assert_member(object, "checkpoint.safe", "null");
	assert_member(object, "order", "null");
	assert_member(object, "cache", "null");
	assert_member(object, "throttled_s", "1.5");
	assert_member(object, "fetch.run", "null");
}

static void test_rates(void **state)
{
	struct box box = { 0 };
	struct watched *of = &box.watch.of[STATUS_TRAIND];
	struct view view = { .box = &box, .id = RUN, .state = "running" };
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(json_free) cJSON *paused = cJSON_CreateObject();
	CLEANUP(json_free) cJSON *pausing = cJSON_CreateObject();
	struct timespec now;

	(void)state;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	of->count = 2;
	for (unsigned i = 0; i < 2; i++) {
		of->sample[i] = trainer();
		of->sample[i].updated_us = (uint64_t)now.tv_sec * 1000000 - 10000000 + i * 10000000;
	}
	of->sample[0].traind.step = 100;
	of->sample[1].traind.rows = 6400;
	of->sample[1].traind.busy_us = 5000000;
	view.traind = watch_newest(&box.watch, STATUS_TRAIND);
	training_add_run(object, &view);
	assert_member(object, "progress.eta_s", "50"); /* 250 steps left, 5 a second */
	assert_member(object, "rates.records_per_s", "640");
	assert_member(object, "rates.gpu_busy_percent", "50");
	assert_member(object, "rates.waiting_percent", "0");
	assert_member(object, "rates.bytes_per_s", "null");
	assert_member(object, "run", "null");
	/* A paused run has no speed and no end, although the samples are of the time before the pause. */
	view.state = "paused";
	training_add_run(paused, &view);
	assert_member(paused, "progress.eta_s", "null");
	assert_member(paused, "rates.records_per_s", "null");
	assert_member(paused, "rates.gpu_busy_percent", "null");
	view.state = "running";
	(void)snprintf(of->sample[1].phase, sizeof(of->sample[1].phase), "paused");
	training_add_run(pausing, &view);
	assert_member(pausing, "progress.eta_s", "null");
	assert_member(pausing, "rates.records_per_s", "null");
	/* Figures of a page that is no longer written are not shown as current. */
	of->sample[0].updated_us -= 100000000;
	of->sample[1].updated_us -= 100000000;
	assert_true(isnan(watch_rate(&box.watch, STATUS_TRAIND, offsetof(struct status, traind.rows))));
}

static void test_a_run_that_ended(void **state)
{
	struct box box = { 0 };
	struct view view = { .box = &box, .id = RUN, .state = "finished", .now_us = NOW_US };
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(json_free)
	cJSON *record =
		cJSON_Parse("{\"throttled_s\":3,\"epochs\":[{\"step\":100,\"loss\":9},"
			    "{\"step\":200,\"loss\":0.25,\"accuracy\":0.5,\"validation_loss\":0.125}]}");

	(void)state;
	view.record = record;
	training_add_run(object, &view);
	training_add_work(object, &view);
	assert_member(object, "progress.epoch", "2");
	assert_member(object, "progress.step", "200");
	assert_member(object, "progress.percent", "100");
	assert_member(object, "loss", "0.25");
	assert_member(object, "validation_loss", "0.125");
	assert_member(object, "validation_accuracy", "null");
	assert_member(object, "throttled_s", "3");
	assert_member(object, "upload_retries", "null");
	assert_member(object, "tracking", "null");
}

static void test_tracking(void **state)
{
	struct box box = { 0 };
	struct status uploadd = { .run_id = RUN,
				  .uploadd = { .tracks = 1, .tracked = 7, .track_waiting = 2 } };
	struct view view = { .box = &box, .id = RUN, .state = "running", .uploadd = &uploadd };
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(json_free) cJSON *failing = cJSON_CreateObject();

	(void)state;
	training_add_work(object, &view);
	assert_member(object, "tracking.sent", "7");
	assert_member(object, "tracking.waiting", "2");
	assert_member(object, "tracking.problem", "null");
	(void)snprintf(uploadd.uploadd.tracking, sizeof(uploadd.uploadd.tracking), "HTTP 403");
	training_add_work(failing, &view);
	assert_member(failing, "tracking.problem", "\"HTTP 403\"");
}

#define FILE_S 1767220000

static void put_checkpoint(uint64_t step)
{
	const struct timespec times[2] = { { FILE_S, 0 }, { FILE_S, 0 } };
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES];
	struct error err = { 0 };

	assert_int_equal(spool_make(RUN, &err), 0);
	(void)spool_path(RUN, spool_checkpoint_name(step, name), path);
	assert_int_equal(file_write_durable(path, "data", 4, &err), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* In `expected` TIME is the time of the file. */
static void assert_rows(const cJSON *rows, const char *expected)
{
	CLEANUP(free_ptr) char *found = cJSON_PrintUnformatted(rows);
	char text[512] = "", *out = text;

	while (*expected)
		if (strncmp(expected, "TIME", 4) == 0) {
			out += snprintf(out, 16, "%d", FILE_S);
			expected += 4;
		} else {
			*out++ = *expected++;
		}
	assert_string_equal(found, text);
}

/* status and `kiln checkpoint` read the same rows. */
static void test_checkpoints(void **state)
{
	static const struct {
		const char *label;
		uint64_t step, uploaded; /* on the disk, in the store */
		const char *newest, *safe, *rows;
	} cases[] = {
		{ "there is no checkpoint", 0, 0, "null", "null", "[]" },
		{ "the file is uploaded and removed", 0, 300, "300", "true",
		  "[{\"step\":300,\"bytes\":null,\"time_s\":1767225600,\"on_disk\":false,\"uploaded\":true}"
		  "]" },
		{ "nothing is uploaded yet", 300, 0, "300", "false",
		  "[{\"step\":300,\"bytes\":4,\"time_s\":TIME,\"on_disk\":true,\"uploaded\":false}]" },
		{ "the store has the newest", 300, 300, "300", "true",
		  "[{\"step\":300,\"bytes\":4,\"time_s\":TIME,\"on_disk\":true,\"uploaded\":true}]" },
		{ "the store is behind", 300, 200, "300", "false",
		  "[{\"step\":200,\"bytes\":null,\"time_s\":null,\"on_disk\":false,\"uploaded\":true},"
		  "{\"step\":300,\"bytes\":4,\"time_s\":TIME,\"on_disk\":true,\"uploaded\":false}]" },
		{ "the store is ahead", 300, 400, "400", "true",
		  "[{\"step\":300,\"bytes\":4,\"time_s\":TIME,\"on_disk\":true,\"uploaded\":true},"
		  "{\"step\":400,\"bytes\":null,\"time_s\":null,\"on_disk\":false,\"uploaded\":true}]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct box box = { 0 };
		struct status traind = trainer(), uploadd = { .run_id = RUN };
		struct view view = {
			.box = &box, .id = RUN, .state = "running", .traind = &traind, .uploadd = &uploadd
		};
		CLEANUP(checkpoints_done) struct checkpoints found = { 0 };
		CLEANUP(json_free) cJSON *object = cJSON_CreateObject();

		if (cases[i].step)
			put_checkpoint(cases[i].step);
		traind.traind.checkpoint_step = 300;
		traind.traind.checkpoint_us = NOW_US;
		uploadd.uploadd.checkpoint_step = cases[i].uploaded;
		training_add_run(object, &view);
		assert_member(object, "checkpoint.step", cases[i].newest);
		assert_member(object, "checkpoint.safe", cases[i].safe);
		assert_int_equal(checkpoints_read(RUN, &traind, &uploadd, &found, NULL), 0);
		assert_rows(found.rows, cases[i].rows);
	}
}

/* ---- The word and its reason ---- */

static const struct {
	const char *label, *state, *record, *degraded, *phase;
	bool begins, dead, full_disk, no_trainer;
	const char *word, *why;
} healths[] = {
	{ .label = "no run",
	  .state = "idle",
	  .word = "idle",
	  .why = "there was no run yet, and there is no configuration: kiln config apply FILE" },
	{ .label = "at work", .state = "running", .record = "{}", .word = "running", .why = "epoch 2 of 4" },
	{ .label = "a run begins",
	  .state = "idle",
	  .begins = true,
	  .word = "beginning",
	  .why = "kiln-begin prepares a run" },
	{ .label = "a halt",
	  .state = "running",
	  .record = "{\"reason\":\"too hot\"}",
	  .word = "degraded",
	  .why = "too hot" },
	{ .label = "the reason of a run that ended is no alarm",
	  .state = "failed",
	  .record = "{\"reason\":\"too hot\"}",
	  .word = "failed",
	  .why = "too hot" },
	{ .label = "a daemon's own word",
	  .state = "running",
	  .record = "{}",
	  .phase = "degraded",
	  .word = "degraded",
	  .why = "traind: epoch 2 of 4" },
	{ .label = "a daemon's mark",
	  .state = "running",
	  .record = "{}",
	  .degraded = "small pages",
	  .word = "degraded",
	  .why = "traind: small pages" },
	{ .label = "a daemon that is gone",
	  .state = "running",
	  .record = "{}",
	  .dead = true,
	  .word = "degraded",
	  .why = "traind does not run: epoch 2 of 4" },
	{ .label = "gone after the run's end",
	  .state = "finished",
	  .record = "{}",
	  .dead = true,
	  .word = "finished",
	  .why = NULL },
	{ .label = "no trainer a while after the begin",
	  .state = "running",
	  .record = "{\"started_s\":1767225000}",
	  .no_trainer = true,
	  .word = "degraded",
	  .why = "kiln-traind has not begun; kiln log tells why" },
	{ .label = "a full disk",
	  .state = "running",
	  .record = "{}",
	  .full_disk = true,
	  .word = "degraded",
	  .why = "the disk has 4.0 % left" },
};

static void test_health(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(healths) / sizeof(healths[0]); i++) {
		struct box box = { 0 };
		struct status page = trainer();
		CLEANUP(json_free) cJSON *record = healths[i].record ? cJSON_Parse(healths[i].record) : NULL;
		CLEANUP(json_free)
		cJSON *disk =
			cJSON_Parse(healths[i].full_disk ? "{\"free_percent\":4}" : "{\"free_percent\":50}");
		CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
		struct view view = { .box = &box,
				     .record = record,
				     .state = healths[i].state,
				     .begins = healths[i].begins,
				     .traind = healths[i].record && !healths[i].no_trainer ? &page : NULL,
				     .disk = disk,
				     .now_us = NOW_US };
		const char *word, *why;

		if (healths[i].dead) {
			page.pid = 0;
			page.updated_us -= 60000000;
		}
		if (healths[i].phase)
			(void)snprintf(page.phase, sizeof(page.phase), "%s", healths[i].phase);
		if (healths[i].degraded)
			(void)snprintf(page.degraded, sizeof(page.degraded), "%s", healths[i].degraded);
		health_add(object, &view);
		word = cJSON_GetStringValue(json_member(object, "state"));
		why = cJSON_GetStringValue(json_member(object, "why"));
		if (strcmp(word, healths[i].word) != 0 || !healths[i].why != !why ||
		    (why && strcmp(why, healths[i].why) != 0))
			fail_msg("%s: found %s, \"%s\"", healths[i].label, word, why ? why : "nothing");
	}
}

/* The record cannot be read; then the metrics cannot be written. */
/* A box from an image, whose ESP is missing, not mounted, and mounted (a link to another file system). */
static void test_esp(void **state)
{
	static const char line[] = "root=/dev/x rauc.slot=A";
	struct box box = { 0 };
	struct view view = { .box = &box, .state = "idle", .now_us = NOW_US };
	char path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		CLEANUP(json_free) cJSON *object = cJSON_CreateObject();

		if (i == 1) {
			(void)snprintf(path, sizeof(path), "%s/proc", root);
			assert_int_equal(path_make(path, &err), 0);
			(void)path_of(PATH_CMDLINE, NULL, path);
			assert_int_equal(file_write_durable(path, line, strlen(line), &err), 0);
		} else if (i == 2) {
			assert_int_equal(path_make(path_of(PATH_ESP, NULL, path), &err), 0);
		} else if (i == 3) {
			assert_int_equal(rmdir(path_of(PATH_ESP, NULL, path)), 0);
			assert_int_equal(symlink("/proc", path), 0);
		}
		health_add(object, &view);
		assert_member(object, "state", i == 1 || i == 2 ? "\"degraded\"" : "\"idle\"");
		if (i == 1 || i == 2)
			assert_member(
				object, "why",
				"\"no ESP: the partition KILN is not mounted at /efi, so the box takes no "
				"files from it and no update\"");
	}
}

/* Nobody waits; the timer waits; the boot waits with a run that has ended, with one that goes on; the process
 * that waited has ended. */
static void test_clock_wait(void **state)
{
	static const struct {
		const char *verb, *state, *word, *why;
	} cases[] = {
		{ NULL, "idle", "\"idle\"", "" },
		{ "nightly", "idle", "\"beginning\"", "the timer waits for the clock to be set, at most " },
		{ "resume", "finished", "\"finished\"", "the boot waits for the clock to be set, at most " },
		{ "resume", "running", "\"beginning\"", "; then a run goes on if one was interrupted" },
		{ "gone", "idle", "\"idle\"", "" },
	};
	struct box box = { 0 };
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct view view = { .box = &box, .state = cases[i].state, .now_us = NOW_US };
		CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
		const char *why;

		if (cases[i].verb && strcmp(cases[i].verb, "gone") != 0) {
			clock_wait_begin(cases[i].verb, 300);
		} else if (cases[i].verb) {
			if ((pid = fork()) == 0) {
				clock_wait_begin("nightly", 300);
				_exit(0);
			}
			assert_int_equal(waitpid(pid, NULL, 0), pid);
		}
		health_add(object, &view);
		assert_member(object, "state", cases[i].word);
		why = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "why"));
		assert_non_null(strstr(why ? why : "", cases[i].why));
		clock_wait_end();
	}
}

static void test_health_of_the_box(void **state)
{
	struct box box = { .metrics.error = "/x/kiln.prom: Permission denied" };
	struct view view = { .box = &box, .state = "idle", .now_us = NOW_US };
	CLEANUP(json_free) cJSON *first = cJSON_CreateObject();
	CLEANUP(json_free) cJSON *second = cJSON_CreateObject();

	(void)state;
	health_add(first, &view);
	assert_member(first, "state", "\"degraded\"");
	assert_member(first, "why", "\"control.metrics_dir: /x/kiln.prom: Permission denied\"");
	(void)error_set(&view.record_error, -EBADMSG, "run.json: damaged");
	health_add(second, &view);
	assert_member(second, "why", "\"run.json: damaged\"");
}

/* ---- Stalls and metrics ---- */

static void test_stalls(void **state)
{
	struct status fetchd = {
		.pid = getpid(), .run_id = RUN, .started_us = NOW_US, .updated_us = NOW_US + 8000000
	};
	CLEANUP(json_free) cJSON *object = NULL;
	CLEANUP(json_free) cJSON *ended = NULL;

	(void)state;
	fetchd.fetchd.stalled_us[STALL_TRANSFER] = 2500000;
	fetchd.fetchd.stalled = STALL_TRANSFER + 1;
	object = stalls_object(&fetchd, NULL);
	assert_member(object, "observed_s", "8");
	assert_member(object, "device_waited_s", "null");
	assert_member(object, "now.stage", "\"transfer\"");
	assert_member(object, "now.key", "null");
	assert_int_equal(cJSON_GetArraySize(json_member(object, "stages")), STALL_STAGES);
	assert_member(cJSON_GetArrayItem(json_member(object, "stages"), STALL_TRANSFER), "waited_s", "2.5");
	assert_member(object, "at_work", "true");
	/* The page of a fetcher that has ended still has the wait of its last moment. */
	fetchd.pid = 0;
	ended = stalls_object(&fetchd, NULL);
	assert_member(ended, "at_work", "false");
	assert_member(ended, "now", "null");
	assert_member(cJSON_GetArrayItem(json_member(ended, "stages"), STALL_TRANSFER), "waited_s", "2.5");
}

/* ---- Ranks ---- */

#define S 1000000u

static struct status ranks_page(uint32_t ranks, const struct status_rank_times *times)
{
	struct status page = trainer();

	page.traind.ranks = ranks;
	for (uint32_t rank = 0; rank < ranks; rank++) {
		page.traind.rank[rank].times = times[rank];
		(void)snprintf(page.traind.rank[rank].host, sizeof(page.traind.rank[rank].host), "box-%u",
			       rank + 1);
		(void)snprintf(page.traind.rank[rank].device, sizeof(page.traind.rank[rank].device), "gpu");
	}
	return page;
}

/* Which rank is the slowest, and why: times in seconds, in the order feed, others, exchange, device. */
static void test_slowest(void **state)
{
	static const struct {
		struct status_rank_times times[3];
		const char *rank, *box, *stage, *cost_s;
	} cases[] = {
		{ { { 0, 0, 8 * S, 0, 12 * S }, { 0, 9 * S, 0, 0, 11 * S }, { 0, 0, 9 * S, 0, 11 * S } },
		  "1",
		  "\"box-2\"",
		  "\"feed\"",
		  "8.5" },
		{ { { 0, 0, S, 5 * S, 14 * S }, { 0, 0, S, 5 * S, 14 * S }, { 0, 0, 0, S, 19 * S } },
		  "2",
		  "\"box-3\"",
		  "\"device\"",
		  "5" },
		/* a part of its time is in none of the figures */
		{ { { 0, 0, 8 * S, 0, 12 * S }, { 0, 0, 8 * S, 0, 12 * S }, { 0, 0, 0, 0, 2 * S } },
		  "2",
		  "\"box-3\"",
		  "\"device\"",
		  "8" },
		{ { { 0, 0, 0, 4 * S, 16 * S }, { 0, 0, 0, 4 * S, 16 * S }, { 0, 0, 0, 5 * S, 15 * S } },
		  "null",
		  "null",
		  "\"wire\"",
		  "4" },
		{ { { 0, 0, 0, S, 19 * S }, { 0, 0, 0, S, 19 * S }, { 0, S, 0, S, 18 * S } },
		  NULL,
		  NULL,
		  NULL,
		  NULL },
		{ { { 0 } }, NULL, NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct status page = ranks_page(3, cases[i].times);
		CLEANUP(json_free) cJSON *object = status_ranks(NULL, &page);

		if (!cases[i].stage) {
			assert_member(object, "slowest", "null");
			continue;
		}
		assert_member(object, "slowest.rank", cases[i].rank);
		assert_member(object, "slowest.box", cases[i].box);
		assert_member(object, "slowest.stage", cases[i].stage);
		assert_member(object, "slowest.cost_s", cases[i].cost_s);
	}
}

/* The times are those between two pages; with one rank there is nothing to compare. */
static void test_ranks_between(void **state)
{
	const struct status_rank_times first[] = { { 100, S, S, S, S }, { 100, S, S, S, S } },
				       second[] = { { 500, S, 2 * S, 3 * S, 5 * S },
						    { 700, 2 * S, S, S, S } };
	const struct status before = ranks_page(2, first), now = ranks_page(2, second), alone = trainer();
	CLEANUP(json_free) cJSON *object = status_ranks(&before, &now);
	CLEANUP(json_free) cJSON *none = status_ranks(NULL, &alone);
	const cJSON *rank = cJSON_GetArrayItem(json_member(object, "rank"), 0);

	(void)state;
	assert_int_equal(cJSON_GetArraySize(json_member(object, "rank")), 2);
	assert_member(rank, "rank", "0");
	assert_member(rank, "box", "\"box-1\"");
	assert_member(rank, "device", "\"gpu\"");
	assert_member(rank, "rows", "400");
	assert_member(rank, "records_per_s", "57.142857142857146");
	assert_member(rank, "feed_s", "0");
	assert_member(rank, "others_s", "1");
	assert_member(rank, "exchange_s", "2");
	assert_member(rank, "device_s", "4");
	assert_true(cJSON_IsNull(none));
}

static void test_metrics_of_ranks(void **state)
{
	const struct status_rank_times times[] = { { 100, S, S, S, S }, { 300, 2 * S, S, S, 7 * S } };
	const struct status page = ranks_page(2, times), fetchd = { .run_id = RUN };
	CLEANUP(json_free) cJSON *status = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;

	(void)state;
	(void)cJSON_AddItemToObject(status, "fetch", stalls_object(&fetchd, &page));
	text = metrics_text(status);
	assert_non_null(strstr(text, "\nkiln_rank_rows_total{rank=\"1\",box=\"box-2\"} 300\n"));
	assert_non_null(
		strstr(text, "\nkiln_rank_seconds_total{rank=\"1\",box=\"box-2\",stage=\"device\"} 7\n"));
}

static void test_metrics(void **state)
{
	CLEANUP(json_free)
	cJSON *status =
		cJSON_Parse("{\"state\":\"running\",\"loss\":0.5,\"accuracy\":null,\"fetch_retries\":3,"
			    "\"progress\":{\"percent\":25},\"temperatures\":[{\"name\":\"a "
			    "\\\"b\\\"\",\"celsius\":40}]}");
	CLEANUP(free_ptr) char *text = metrics_text(status);

	(void)state;
	assert_non_null(strstr(text, "\nkiln_state{state=\"running\"} 1\n"));
	assert_non_null(strstr(text, "\nkiln_state{state=\"idle\"} 0\n"));
	assert_non_null(strstr(text, "\nkiln_loss 0.5\n"));
	assert_null(strstr(text, "kiln_accuracy"));
	assert_non_null(strstr(text, "\nkiln_fetch_retries_total 3\n"));
	assert_non_null(strstr(text, "\nkiln_progress_ratio 0.25\n"));
	assert_non_null(strstr(text, "\nkiln_temperature_celsius{sensor=\"a \\\"b\\\"\"} 40\n"));
	assert_string_equal(text + strlen(text) - 6, "# EOF\n");
}

/* ---- A run that begins ---- */

static void touch(enum path folder, const char *name)
{
	char path[PATH_BYTES];
	FILE *file;
	struct error err;

	assert_int_equal(path_make(path_of(folder, NULL, path), &err), 0);
	file = fopen(path_of(folder, name, path), "w");
	assert_non_null(file);
	(void)fputs("running\n", file);
	(void)fclose(file);
}

static void test_beginning(void **state)
{
	struct beginning beginning = { 0 };

	(void)state;
	assert_false(beginning_is(&beginning, ""));
	beginning_mark(&beginning, false);
	assert_true(beginning_is(&beginning, ""));
	/* kiln-begin has made a new run. */
	assert_false(beginning_is(&beginning, RUN));
	assert_false(beginning_is(&beginning, ""));
	/* kiln-begin gave the run up. The time stamps of files come from a coarse clock: wait for its next
	 * tick. */
	beginning_mark(&beginning, false);
	beginning.since.tv_sec--;
	assert_true(beginning_is(&beginning, ""));
	touch(PATH_RUNS, RUN_UNBEGUN_FILE);
	assert_false(beginning_is(&beginning, ""));
	beginning_mark(&beginning, false);
	beginning_forget(&beginning);
	assert_false(beginning_is(&beginning, ""));
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(test_a_run_at_work),
		IN_SCRATCH(test_rates),
		IN_SCRATCH(test_a_run_that_ended),
		IN_SCRATCH(test_checkpoints),
		IN_SCRATCH(test_health),
		IN_SCRATCH(test_health_of_the_box),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_slowest),
		cmocka_unit_test(test_ranks_between),
		cmocka_unit_test(test_metrics_of_ranks),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_tracking),
		IN_SCRATCH(test_beginning),
		IN_SCRATCH(test_esp),
		IN_SCRATCH(test_clock_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
