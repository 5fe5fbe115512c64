/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kiln-steer: starts and stops units of systemd for kiln-controld, which may ask for a few actions only.
 * kiln-steer.socket starts a process for each request: standard input has one word and a newline, standard
 * output gets one line, "ok" or "error TEXT". After the words rank.start and rank.stop follow a space and the
 * name of a job (core/ranks/job.h).
 *
 * Why a program of its own: kiln-controld reads requests of other machines and runs without privileges, while
 * starting and stopping units needs root. kiln-steer runs as root without any capability, and a fixed table
 * maps each word to an action: no word can name a unit or a path. The name of a job only chooses the instance
 * of kiln-rank@.service, which checks itself what it runs. One thread, no state. If kiln-steer is killed,
 * systemd still finishes the action, and kiln-controld gets no answer.
 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/program.h"
#include "core/box/floor.h"
#include "core/ranks/job.h"
#include "drivers/manager/manager.h"

#include <poll.h>
#include <string.h>

#define WORD_BYTES_MAX 64u
#define WORDS_BYTES    512u /* room for all words */
#define WAIT_MS        2000 /* longest wait for the rest of the word */
#define SYSTEMD_S      100u /* longest wait for systemd; the unit's RuntimeMaxSec= is longer */
#define RANK_JOB_S     90u  /* longest wait until systemd has started or stopped a rank's unit */

static int power_off(struct manager *manager, struct error *err)
{
	return manager_power(manager, "poweroff.target", err);
}

/* Starts a unit that only a box with a Kiln image has. */
static int start_of_image(struct manager *manager, const char *unit, struct error *err)
{
	int r = manager_start(manager, unit, err);

	return r == -ENOENT ? error_set(err, r, "this system is not a Kiln image: it has no %s", unit) : r;
}

static int start_update(struct manager *manager, bool may_be_older, struct error *err)
{
	int r = floor_allow(may_be_older, err);

	return r < 0 ? r : start_of_image(manager, "kiln-update.service", err);
}

static int update(struct manager *manager, struct error *err)
{
	return start_update(manager, false, err);
}

static int downgrade(struct manager *manager, struct error *err)
{
	return start_update(manager, true, err);
}

static int factory_reset(struct manager *manager, struct error *err)
{
	return start_of_image(manager, "kiln-factory-reset.service", err);
}

static int preload(struct manager *manager, struct error *err)
{
	return manager_start(manager, "kiln-preload.service", err);
}

static int promote(struct manager *manager, struct error *err)
{
	return manager_start(manager, "kiln-promote.service", err);
}

static int rank_stop(struct manager *manager, const char *job, struct error *err)
{
	char unit[RANKS_UNIT_BYTES];
	int r = manager_end(manager, ranks_job_unit(job, unit), RANK_JOB_S, err);

	/* All other units of the job end with this one: then the box is free for the next job. */
	if (r == 0)
		r = manager_end(manager, ranks_job_begin_unit(job, unit), RANK_JOB_S, err);
	return r < 0 ? r : manager_job_reset(manager, job, err);
}

/* kiln-controld finds out how the unit has ended, also where it has ended at once. */
static int rank_start(struct manager *manager, const char *job, struct error *err)
{
	char unit[RANKS_UNIT_BYTES];

	return manager_run(manager, ranks_job_unit(job, unit), RANK_JOB_S, err);
}

static const struct {
	const char *word;
	int (*act)(struct manager *manager, struct error *err);
	/* instead of `act`, where the name of a job follows the word */
	int (*act_on_job)(struct manager *manager, const char *job, struct error *err);
} words[] = {
	{ "run.start", manager_start_run, NULL },   { "run.stop", manager_stop_run, NULL },
	{ "run.reset", manager_reset_run, NULL },   { "config.reload", manager_reload, NULL },
	{ "update.install", update, NULL },         { "power.off", power_off, NULL },
	{ "factory.reset", factory_reset, NULL },   { "cache.preload", preload, NULL },
	{ "update.downgrade", downgrade, NULL },    { "experiments.promote", promote, NULL },
	{ "begin.stop", manager_stop_trial, NULL }, { "slots.stop", manager_stop_beside, NULL },
	{ "rank.start", NULL, rank_start },         { "rank.stop", NULL, rank_stop },
};

/* Reads one line, which nothing may follow. */
static int read_word(char word[static WORD_BYTES_MAX], struct error *err)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	size_t used = 0;

	do {
		ssize_t n = poll(&input, 1, WAIT_MS) == 1
				    ? read(STDIN_FILENO, word + used, WORD_BYTES_MAX - 1 - used)
				    : 0;

		if (n <= 0)
			return error_set(err, -EPROTO, "expected one word and a newline");
		used += (size_t)n;
	} while (!memchr(word, '\n', used) && used < WORD_BYTES_MAX - 1);
	word[used] = '\0';
	if (strcspn(word, "\n") + 1 != used)
		return error_set(err, -EPROTO, "expected one word and a newline");
	word[used - 1] = '\0';
	return 0;
}

static int refuse(const char *word, struct error *err)
{
	char list[WORDS_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s%s", i ? ", " : "",
					 words[i].word, words[i].act_on_job ? " JOB" : "");
	return error_set(err, -EPROTO, "found the word \"%s\", expected one of %s", word, list);
}

/* Returns the name of the job, "" = none; NULL where the word does not fit the row. */
static const char *job_of(const char *word, size_t row)
{
	const size_t length = strlen(words[row].word);

	if (strncmp(word, words[row].word, length) != 0)
		return NULL;
	if (!words[row].act_on_job)
		return word[length] ? NULL : "";
	return word[length] == ' ' && ranks_job_is_name(word + length + 1) ? word + length + 1 : NULL;
}

static int act(const char *word, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *job = job_of(word, i);
		int r;

		if (!job)
			continue;
		event_send(&(struct event){ .id = EVENT_STEER_ASKED, .word = word }, "%s", word);
		if ((r = manager_open(&manager, err)) < 0)
			return r;
		manager_set_wait(manager, SYSTEMD_S);
		return words[i].act_on_job ? words[i].act_on_job(manager, job, err)
					   : words[i].act(manager, err);
	}
	return refuse(word, err);
}

static const struct program program = {
	"kiln-steer", "",
	"Reads one word from standard input, and starts or stops the units of systemd that the word names."
};

int main(int argc, char **argv)
{
	char word[WORD_BYTES_MAX];
	struct error err = { 0 };
	int r = program_begin(&program, argc, argv);

	if (r != PROGRAM_GOES_ON)
		return r;
	log_open("steer");
	if (read_word(word, &err) == 0 && act(word, &err) == 0) {
		puts("ok");
		return EX_OK;
	}
	for (char *c = err.text; *c; c++)
		if ((unsigned char)*c < 0x20)
			*c = ' ';
	printf("error %s\n", err.text);
	event_send(&(struct event){ .id = EVENT_STEER_REFUSED }, "%s", err.text);
	return error_exit_code(&err);
}
