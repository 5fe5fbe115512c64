/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/call/jobs.h"
#include "controld/call/steer.h"
#include "core/base/log.h"
#include "drivers/manager/manager.h"

#include <string.h>

#define WORD_BYTES 64u

enum state {
	STARTING, /* kiln-steer starts the unit */
	RUNNING,
	LEFT,     /* nobody owns it: the unit has to be stopped */
	STOPPING, /* kiln-steer stops the unit */
};

struct job {
	struct job *next;
	struct calls *calls;
	enum state state;
	job_ended_fn *ended;
	void *client; /* the session; NULL = none */
	char name[RANKS_JOB_BYTES];
};

static struct job *find(const struct calls *calls, const char *name)
{
	struct job *job = calls->jobs;

	while (job && strcmp(job->name, name) != 0)
		job = job->next;
	return job;
}

static struct job *add(struct calls *calls, const char *name, enum state state)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->calls = calls;
	job->state = state;
	(void)snprintf(job->name, sizeof(job->name), "%s", name);
	job->next = calls->jobs;
	calls->jobs = job;
	return job;
}

static void drop(struct job *job)
{
	struct job **link = &job->calls->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	free(job);
}

static const char *word_for(const char *verb, const char *name, char out[static WORD_BYTES])
{
	(void)snprintf(out, WORD_BYTES, "%s %s", verb, name);
	return out;
}

/* ---- Stop ---- */

/* The outcome of the word rank.stop (steer_done_fn). */
static int stopped(struct call *call, int r, struct error *err)
{
	struct job *job = TAKE(call->job);

	if (r < 0) {
		log_warning("job %s: %s, trying again in a second", job->name, err->text);
		job->state = LEFT;
		return r;
	}
	ranks_job_remove(job->name);
	drop(job);
	return 0;
}

/* Says rank.stop without a client. Where kiln-steer is busy, the job stays LEFT until the next sweep. */
static void stop(struct job *job)
{
	struct call *call = call_new(job->calls, NULL, NULL, NULL);
	char word[WORD_BYTES];
	struct error err = { 0 };

	if (!call)
		return;
	call->job = job;
	call->leave = job_leave;
	job->state = STOPPING;
	if (steer_say(call, word_for("rank.stop", job->name, word), stopped, &err) == CALL_LATER)
		return;
	log_debug("%s", err.text);
	job->state = LEFT;
	call->job = NULL;
	call_free(call);
}

void job_leave(struct job *job)
{
	job->client = NULL;
	job->ended = NULL;
	if (job->state == STOPPING)
		return;
	job->state = LEFT;
	stop(job);
}

int job_stop(struct call *call, const char *name, struct error *err)
{
	const struct job *job = find(call->calls, name);
	char word[WORD_BYTES];

	if (!job) {
		call->code = CONTROL_NOT_FOUND;
		return error_set(err, -ENOENT, "there is no job \"%s\" on this box", name);
	}
	/* The sweep finds that the unit has ended, and tells the connection that owns the job. */
	return steer_say(call, word_for("rank.stop", name, word), NULL, err);
}

/* ---- Start ---- */

/* The outcome of the word rank.start (steer_done_fn). */
static int started(struct call *call, int r, struct error *err)
{
	(void)err;
	if (r < 0)
		job_leave(TAKE(call->job));
	else
		call->job->state = RUNNING; /* the session takes it, or call_free() leaves it */
	return r;
}

static size_t count_of(const struct calls *calls)
{
	size_t count = 0;

	for (const struct job *job = calls->jobs; job; job = job->next)
		count++;
	return count;
}

const char *jobs_any(const struct calls *calls)
{
	return calls->jobs ? calls->jobs->name : NULL;
}

int job_start(struct call *call, const char *name, const cJSON *params, struct error *err)
{
	char word[WORD_BYTES];
	struct job *job;
	int r;

	call->code = CONTROL_STATE;
	if (find(call->calls, name))
		return error_set(err, -EEXIST, "this box has a job \"%s\" already", name);
	if (count_of(call->calls) >= JOBS_MAX)
		return error_set(err, -EBUSY, "this box has %u jobs of other boxes already", JOBS_MAX);
	call->code = CONTROL_INTERNAL;
	if ((r = ranks_job_write(name, params, err)) < 0)
		return r;
	job = add(call->calls, name, STARTING);
	if (!job) {
		ranks_job_remove(name);
		return call_no_memory(err);
	}
	r = steer_say(call, word_for("rank.start", name, word), started, err);
	if (r < 0) {
		ranks_job_remove(name);
		drop(job);
	} else {
		call->job = job;
		call->leave = job_leave;
	}
	return r;
}

void job_own(struct job *job, job_ended_fn *ended, void *client)
{
	job->ended = ended;
	job->client = client;
}

/* ---- The end of the unit ---- */

static char *ended_line(const struct job *job, const struct manager_failure *how)
{
	cJSON *params = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(params, "job", job->name);
	(void)cJSON_AddStringToObject(params, "unit", how->unit);
	(void)cJSON_AddStringToObject(params, "result", how->result);
	(void)cJSON_AddNumberToObject(params, "code", how->exit_status);
	return control_event("rank.ended", params);
}

static void look(struct job *job, struct manager *manager)
{
	struct manager_failure how = { 0 };
	char unit[RANKS_UNIT_BYTES];
	struct error err = { 0 };
	void *client = job->client;
	job_ended_fn *tell = job->ended;
	bool ended = false;
	char *line;

	if (manager_ended(manager, ranks_job_unit(job->name, unit), &ended, &how, &err) < 0)
		log_debug("%s", err.text);
	if (!ended)
		return;
	/* A unit on which this one depends may be the cause. */
	if (manager_job_failure(manager, job->name, &how, &err) < 0)
		log_debug("%s", err.text);
	line = ended_line(job, &how);
	job_leave(job);
	if (tell)
		tell(client, line);
	else
		free(line);
}

static bool is_any(const struct calls *calls, enum state state)
{
	for (const struct job *job = calls->jobs; job; job = job->next)
		if (job->state == state)
			return true;
	return false;
}

void jobs_sweep(struct calls *calls)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	struct error err;

	for (struct job *job = calls->jobs; job; job = job->next)
		if (job->state == LEFT)
			stop(job);
	if (!is_any(calls, RUNNING))
		return;
	if (manager_open(&manager, &err) < 0) {
		log_debug("%s", err.text);
		return;
	}
	/* No function below removes a job at once: kiln-steer's answer comes in another round. */
	for (struct job *job = calls->jobs; job; job = job->next)
		if (job->state == RUNNING)
			look(job, manager);
}

/* ---- The list ---- */

static void find_left(void *calls, const char *name)
{
	(void)add(calls, name, LEFT);
}

void jobs_open(struct calls *calls)
{
	ranks_job_each(find_left, calls);
}

void jobs_done(struct calls *calls)
{
	while (calls->jobs)
		drop(calls->jobs);
}
