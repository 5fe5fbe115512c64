/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/ranks/faults.h"
#include "core/ranks/job.h"
#include "core/ranks/launch.h"
#include "core/run/run.h"
#include "drivers/control/other.h"
#include "oneshot/ranks/ranks.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>

#define COMMAND "orted"

/* The part of a job that another box has. */
struct part {
	const char *host, *job, *run_id;
};

/* Notes that a unit of the part has failed for a reason of its box: after some tries the run goes on without
 * it. */
static void note_failure(const struct part *part, const char *unit, const char *result, int code)
{
	const bool lasting = strcmp(result, "exit-code") == 0 && ranks_fault_is_lasting(code);
	struct error err = { 0 };
	char why[ERROR_TEXT_MAX];

	(void)snprintf(why, sizeof(why), "%s has failed: %s, status %d; its journal says why", unit, result,
		       code);
	if (ranks_fault_note(part->run_id, part->host, part->job, lasting, why, &err) < 0)
		log_warning("box %s: %s", part->host, err.text);
}

/* mpirun makes its words for a shell: it puts values in double quotes, and a space before the command. There
 * is no shell here. */
static cJSON *plain_words(int count, char **words)
{
	CLEANUP(json_free) cJSON *array = cJSON_CreateArray();

	for (int i = 0; i < count; i++) {
		const char *word = words[i];
		const size_t length = strlen(word);
		const bool quoted = length >= 2 && *word == '"' && word[length - 1] == '"';
		CLEANUP(free_ptr) char *plain = strndup(word + quoted, length - 2 * quoted);

		if (!plain || !cJSON_AddItemToArray(array, json_string(plain)))
			return NULL;
	}
	return TAKE(array);
}

/* `run`: the current run of this box, which leads the job. */
static cJSON *make_params(const char *job, const struct run *run, int count, char **words)
{
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject();
	cJSON *array = plain_words(count, words);

	if (!cJSON_AddStringToObject(params, "job", job) ||
	    !cJSON_AddStringToObject(params, "run", run->id) ||
	    !cJSON_AddStringToObject(params, "plan", run->plan_sha256)) {
		cJSON_Delete(array);
		return NULL;
	}
	return cJSON_AddItemToObject(params, "arguments", array) ? TAKE(params) : NULL;
}

/* Tells whether a unit of the job has failed for a reason of its box. mpirun ends an orted in other ways
 * where another box fails. */
static bool is_own_failure(const char *unit, const char *result, int code, const char *job)
{
	char rank[RANKS_UNIT_BYTES];

	if (strcmp(result, "success") == 0)
		return false;
	return strcmp(unit, ranks_job_unit(job, rank)) != 0 || strcmp(result, "core-dump") == 0 ||
	       strcmp(result, "oom-kill") == 0 ||
	       (strcmp(result, "exit-code") == 0 &&
		(code == RANKS_NOT_EXECUTABLE || code == RANKS_NOT_FOUND));
}

/* Waits for the end of orted on the other box. Returns the exit code to pass on. */
static int wait_for_end(struct client *client, const struct part *part, int *ret_code, struct error *err)
{
	CLEANUP(json_free) cJSON *end = NULL;
	const char *result, *unit;
	int r = client_event(client, &end, err), code;

	if (r < 0)
		return r;
	result = cJSON_GetStringValue(json_member(end, "result"));
	code = (int)json_number(end, "code", EX_SOFTWARE);
	unit = cJSON_GetStringValue(json_member(end, "unit"));
	if (!result || !unit)
		return error_set(err, -EPROTO,
				 "found no unit and result in the message that " COMMAND " has ended");
	if (is_own_failure(unit, result, code, part->job))
		note_failure(part, unit, result, code);
	if (strcmp(result, "success") != 0 && code == 0)
		code = EX_SOFTWARE;
	if (code != 0)
		log_warning("box %s: %s has ended: %s, status %d", part->host, unit, result, code);
	*ret_code = code;
	return 0;
}

static int start(const char *host, const char *job, int count, char **words, int *ret_code, struct error *err)
{
	CLEANUP(client_closep) struct client *client = NULL;
	CLEANUP(json_free) cJSON *answer = NULL;
	CLEANUP(run_done) struct run run = { 0 };
	const struct part part = { host, job, run.id };
	cJSON *params;
	int r;

	if ((r = run_load(&run, err)) < 0 || (r = other_open(host, &run.config, NULL, &client, err)) < 0)
		return r;
	params = make_params(job, &run, count, words);
	if (!params)
		return error_set(err, -ENOMEM, "no memory");
	/* A refusal says nothing about the box: it may still have another job. */
	r = client_call(client, "rank.start", params, &answer, err);
	return r < 0 ? r : wait_for_end(client, &part, ret_code, err);
}

int oneshot_ranks_agent(int argc, char **argv)
{
	const char *job = getenv(RANKS_JOB_NAME), *command = argv[2] + (*argv[2] == ' ');
	const pid_t parent = getppid();
	struct error err = { 0 };
	int code = EX_SOFTWARE, r;

	/* mpirun that is killed tells nobody: the kernel ends the agent with it, and so orted on the other
	 * box. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		return EX_SOFTWARE;
	if (!job || strcmp(command, COMMAND) != 0)
		r = error_set(&err, -EINVAL,
			      "found the command \"%s\" and " RANKS_JOB_NAME "=%s, expected " COMMAND
			      " and the name of a job",
			      command, job ? job : "");
	else
		r = start(argv[1], job, argc - 3, argv + 3, &code, &err);
	if (r < 0) {
		(void)error_prefix(&err, "box %s", argv[1]);
		log_err("%s", err.text);
	}
	/* Whatever is wrong with another box, the run does not end for good: the next start may do without
	 * it. */
	return r < 0 || code != 0 ? EX_UNAVAILABLE : EX_OK;
}
