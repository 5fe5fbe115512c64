/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/config/config.h"
#include "core/ranks/facts.h"
#include "core/ranks/launch.h"
#include "drivers/control/client.h"
#include "oneshot/ranks/ranks.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sysexits.h>

#define COMMAND "orted"

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

static cJSON *make_params(const char *job, int count, char **words)
{
	CLEANUP(json_free) cJSON *params = cJSON_CreateObject();
	cJSON *array = plain_words(count, words);

	if (!cJSON_AddStringToObject(params, "job", job)) {
		cJSON_Delete(array);
		return NULL;
	}
	return cJSON_AddItemToObject(params, "arguments", array) ? TAKE(params) : NULL;
}

/* Asks the other box what it has, and compares it with this box. */
static int check(struct client *client, bool mixed, struct error *err)
{
	CLEANUP(json_free) cJSON *answer = NULL;
	const uint64_t since_us = clock_us();
	struct ranks_facts here, found;
	int r = client_call(client, "rank.check", NULL, &answer, err);
	const uint64_t way_us = clock_us() - since_us;

	if (r < 0 || (r = ranks_facts_here(&here, err)) < 0 || (r = ranks_facts_of(answer, &found, err)) < 0)
		return r;
	return ranks_facts_compare(&found, &here, way_us, mixed, err);
}

/* Waits for the end of orted on the other box. Returns the exit code to pass on. */
static int wait_for_end(struct client *client, int *ret_code, struct error *err)
{
	CLEANUP(json_free) cJSON *end = NULL;
	const char *result;
	int r = client_event(client, &end, err), code;

	if (r < 0)
		return r;
	result = cJSON_GetStringValue(json_member(end, "result"));
	code = (int)json_number(end, "code", EX_SOFTWARE);
	if (!result)
		return error_set(err, -EPROTO, "found no result in the message that " COMMAND " has ended");
	if (strcmp(result, "success") != 0 && code == 0)
		code = EX_SOFTWARE;
	if (code != 0)
		log_warning(COMMAND " has ended there: %s, status %d", result, code);
	*ret_code = code;
	return 0;
}

static int start(const char *host, const char *job, int count, char **words, int *ret_code, struct error *err)
{
	CLEANUP(client_closep) struct client *client = NULL;
	CLEANUP(json_free) cJSON *answer = NULL;
	CLEANUP(config_done) struct config config = { 0 };
	char port[8];
	const struct client_box box = { .name = host, .address = host, .port = port };
	cJSON *params;
	int r = config_load(config_path(0, NULL), &config, err);

	if (r < 0)
		return r;
	(void)snprintf(port, sizeof(port), "%" PRIu64, config.control.port);
	if ((r = client_open_box(&box, &client, err)) < 0 || (r = check(client, config.ranks.mixed, err)) < 0)
		return r;
	params = make_params(job, count, words);
	if (!params)
		return error_set(err, -ENOMEM, "no memory");
	if ((r = client_call(client, "rank.start", params, &answer, err)) < 0)
		return r;
	return wait_for_end(client, ret_code, err);
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
		return error_exit_code(&err);
	}
	return code;
}
