/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the members of run.json and the names of states. */
#include "core/run/run_record.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static const char *const state_names[] = {
	[RUN_RUNNING] = "running", [RUN_PAUSED] = "paused",   [RUN_STOPPING] = "stopping",
	[RUN_STOPPED] = "stopped", [RUN_EXPIRED] = "expired", [RUN_FINISHED] = "finished",
	[RUN_FAILED] = "failed",   [RUN_PRUNED] = "pruned",
};
static_assert(sizeof(state_names) / sizeof(state_names[0]) == RUN_STATE_MAX, "every state has its name");

const char *run_state_name(enum run_state state)
{
	return state_names[state];
}

bool run_state_is_final(enum run_state state)
{
	return state >= RUN_FINISHED;
}

int record_parse_state(const char *what, const char *text, enum run_state *ret_state, struct error *err)
{
	for (int i = 0; i < RUN_STATE_MAX; i++)
		if (strcmp(text, state_names[i]) == 0) {
			*ret_state = (enum run_state)i;
			return 0;
		}
	return error_set(err, -EBADMSG, "%s: found state \"%.20s\", expected running, paused ... pruned",
			 what, text);
}

bool run_is_id(const char *id)
{
	size_t length = strlen(id);

	return length >= 1 && length < RUN_ID_BYTES && id[0] != '.' &&
	       strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

static bool is_sha256(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static int parse_sha256(const char *what, const cJSON *record, const char *key, char out[static 65],
			struct error *err)
{
	const char *found;
	int r = json_get_string(what, record, key, &found, err);

	if (r < 0)
		return r;
	if (*found && !is_sha256(found))
		return error_set(err, -EBADMSG, "%s: found %s \"%.100s\", expected a SHA-256", what, key,
				 found);
	(void)snprintf(out, 65, "%s", found);
	return 0;
}

/* Reads the member "machine", which records of older versions do not have. */
static int parse_machine(const char *what, const cJSON *record, char out[static MACHINE_ID_BYTES],
			 struct error *err)
{
	const char *found;
	int r;

	if (!cJSON_HasObjectItem(record, "machine"))
		return 0;
	if ((r = json_get_string(what, record, "machine", &found, err)) < 0)
		return r;
	if (!machine_is_id(found, strlen(found)))
		return error_set(err, -EBADMSG, "%s: found machine \"%.100s\", expected a machine-id(5)",
				 what, found);
	(void)snprintf(out, MACHINE_ID_BYTES, "%s", found);
	return 0;
}

/* Reads the optional member "root": an absolute path. */
static int parse_root(const char *what, const cJSON *record, char out[static PATH_BYTES], struct error *err)
{
	const char *found;
	int r;

	if (!cJSON_HasObjectItem(record, "root"))
		return 0;
	if ((r = json_get_string(what, record, "root", &found, err)) < 0)
		return r;
	if (*found != '/' || strlen(found) >= PATH_BYTES)
		return error_set(err, -EBADMSG, "%s: found root \"%.100s\", expected an absolute path", what,
				 found);
	(void)snprintf(out, PATH_BYTES, "%s", found);
	return 0;
}

/* Reads an optional member that is the id of a run, or empty. */
static int parse_run_id(const char *what, const cJSON *record, const char *key, char out[static RUN_ID_BYTES],
			struct error *err)
{
	const char *found;
	int r;

	if (!cJSON_HasObjectItem(record, key))
		return 0;
	if ((r = json_get_string(what, record, key, &found, err)) < 0)
		return r;
	if (*found && !run_is_id(found))
		return error_set(err, -EBADMSG, "%s: found %s \"%.100s\", expected the id of a run", what,
				 key, found);
	(void)snprintf(out, RUN_ID_BYTES, "%s", found);
	return 0;
}

int run_is_ours(const struct run *run, struct error *err)
{
	char mine[MACHINE_ID_BYTES], here[PATH_BYTES];
	int r = machine_id_read(mine, err);

	if (r < 0)
		return r;
	return *run->machine && strcmp(run->machine, mine) == 0 && strcmp(run->root, machine_root(here)) == 0;
}

int record_parse(const char *what, const cJSON *record, struct run *ret_run, struct error *err)
{
	const char *id, *start;
	uint64_t version, started, ends = 0, budget_ends = 0, rest = 0;
	int r;

	if ((r = json_get_u64(what, record, "version", &version, err)) < 0 ||
	    (r = json_get_string(what, record, "id", &id, err)) < 0 ||
	    (r = json_get_u64(what, record, "started_s", &started, err)) < 0 ||
	    (cJSON_HasObjectItem(record, "ends_s") &&
	     (r = json_get_u64(what, record, "ends_s", &ends, err)) < 0) ||
	    (cJSON_HasObjectItem(record, "budget_ends_s") &&
	     (r = json_get_u64(what, record, "budget_ends_s", &budget_ends, err)) < 0) ||
	    (cJSON_HasObjectItem(record, "rest_after_epoch") &&
	     (r = json_get_u64(what, record, "rest_after_epoch", &rest, err)) < 0) ||
	    (r = json_get_string(what, record, "start_run", &start, err)) < 0 ||
	    (r = parse_machine(what, record, ret_run->machine, err)) < 0 ||
	    (r = parse_root(what, record, ret_run->root, err)) < 0 ||
	    (r = parse_run_id(what, record, "repeats", ret_run->repeats, err)) < 0 ||
	    (r = parse_run_id(what, record, "before", ret_run->before, err)) < 0 ||
	    (r = parse_sha256(what, record, "plan_sha256", ret_run->plan_sha256, err)) < 0 ||
	    (cJSON_HasObjectItem(record, "weights_sha256") &&
	     (r = parse_sha256(what, record, "weights_sha256", ret_run->weights_sha256, err)) < 0))
		return r;
	if (version != RUN_VERSION)
		return error_set(err, -EBADMSG, "%s: found version %" PRIu64 ", expected %u", what, version,
				 RUN_VERSION);
	if (!run_is_id(id) || (*start && !run_is_id(start)))
		return error_set(err, -EBADMSG,
				 "%s: found id \"%.100s\", start_run \"%.100s\", expected run ids", what, id,
				 start);
	(void)snprintf(ret_run->id, sizeof(ret_run->id), "%s", id);
	(void)snprintf(ret_run->start_run, sizeof(ret_run->start_run), "%s", start);
	ret_run->started_s = (int64_t)started;
	ret_run->ends_s = (int64_t)ends;
	ret_run->budget_ends_s = (int64_t)budget_ends;
	ret_run->rest_after_epoch = rest;
	return 0;
}

int run_parse(const char *what, const char *json_text, uint64_t bytes, struct run *ret_run, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	struct run run = { 0 };
	const char *state;
	int r;

	if ((r = json_parse(what, json_text, bytes, &record, err)) < 0 ||
	    (r = record_parse(what, record, &run, err)) < 0 ||
	    (r = json_get_string(what, record, "state", &state, err)) < 0 ||
	    (r = record_parse_state(what, state, &run.state, err)) < 0)
		return r;
	*ret_run = run;
	return 0;
}
