/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/run/run_record.h"

#include <string.h>

/* ---- run.json ---- */

/* Returns the path of a file of an archived run, or of the current run where archived_id is NULL. */
static char *record_path(const char *archived_id, const char *name, char path[static PATH_BYTES])
{
	char tail[PATH_BYTES / 2];

	if (!archived_id)
		return path_of(PATH_RUN, name, path);
	(void)snprintf(tail, sizeof(tail), "%s/%s", archived_id, name);
	return path_of(PATH_ARCHIVE, tail, path);
}

int record_read_json(const char *archived_id, cJSON **ret_json, struct error *err)
{
	char path[PATH_BYTES];

	return json_read(record_path(archived_id, "run.json", path), RUN_JSON_MAX, ret_json, err);
}

int record_write_json(const char *path, const cJSON *json, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = json_print(json, &text, err);

	if (r < 0)
		return r;
	if (strlen(text) > RECORD_WRITE_MAX)
		return error_set(err, -E2BIG, "%s: %zu bytes to write, at most %u expected", path,
				 strlen(text), RECORD_WRITE_MAX);
	return file_write_durable(path, text, strlen(text), err);
}

static int read_state(const char *archived_id, enum run_state *ret_state, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = file_read(record_path(archived_id, "state", path), 64, &text, NULL, err);

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	return record_parse_state(path, text, ret_state, err);
}

int record_write_state(const char *path, enum run_state state, struct error *err)
{
	char text[32];
	int bytes = snprintf(text, sizeof(text), "%s\n", run_state_name(state));

	return file_write_durable(path, text, (uint64_t)bytes, err);
}

int run_state_get(enum run_state *ret_state, struct error *err)
{
	struct record_identity seen;
	int r;

	do {
		if ((r = record_find(&seen, err)) < 0)
			return r;
		r = read_state(NULL, ret_state, err);
	} while (r < 0 && record_has_moved(&seen));
	return r;
}

int run_state_set(enum run_state state, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	enum run_state now;
	int r;

	if ((r = record_lock(&lock, err)) < 0 || (r = read_state(NULL, &now, err)) < 0)
		return r;
	if (run_state_is_final(now) && state != now)
		return error_set(err, -EPERM, "the run is %s, it cannot become %s", run_state_name(now),
				 run_state_name(state));
	return record_write_state(path_of(PATH_RUN, "state", path), state, err);
}

int run_rest(struct error *err)
{
	char path[PATH_BYTES];

	return file_write_durable(path_of(PATH_RUN, RUN_REST_FILE, path), "", 0, err);
}

static int note(const char *archived_id, const char *json_object, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *record = NULL, *members = NULL;
	char path[PATH_BYTES];
	int r;

	if ((r = json_parse("run_note", json_object, strlen(json_object), &members, err)) < 0 ||
	    (r = record_lock(&lock, err)) < 0 || (r = record_read_json(archived_id, &record, err)) < 0)
		return r;
	while (members->child) {
		cJSON *item = cJSON_DetachItemViaPointer(members, members->child);

		cJSON_DeleteItemFromObjectCaseSensitive(record, item->string);
		if (cJSON_IsNull(item))
			cJSON_Delete(item);
		else
			cJSON_AddItemToObject(record, item->string, item);
	}
	return record_write_json(record_path(archived_id, "run.json", path), record, err);
}

int run_lock(int *ret_fd, struct error *err)
{
	return record_lock(ret_fd, err);
}

int run_write_locked(const char *path, const char *text, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	int r = record_lock(&lock, err);

	return r < 0 ? r : file_write_durable(path, text, strlen(text), err);
}

int run_note(const char *json_object, struct error *err)
{
	return note(NULL, json_object, err);
}

int run_note_members(const cJSON *members, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = json_print(members, &text, err);

	return r < 0 ? r : run_note(text, err);
}

int run_reason_set(const char *reason, struct error *err)
{
	CLEANUP(json_free) cJSON *members = cJSON_CreateObject();

	if (!cJSON_AddItemToObject(members, "reason", json_string(reason)))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return run_note_members(members, err);
}

int run_end(enum run_state state, const char *reason, struct error *err)
{
	int r = run_reason_set(reason, err);

	return r < 0 ? r : run_state_set(state, err);
}

int run_note_archived(const char *id, const char *json_object, struct error *err)
{
	return note(id, json_object, err);
}

static int json_of(const char *archived_id, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	enum run_state state;
	int r = record_read_json(archived_id, &record, err);

	if (r == 0)
		r = read_state(archived_id, &state, err);
	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(record, "state");
	if (!cJSON_AddStringToObject(record, "state", run_state_name(state)))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return json_print(record, ret_text, err);
}

int run_json(char **ret_text, struct error *err)
{
	struct record_identity seen;
	char *text = NULL;
	int r;

	do {
		free(TAKE(text));
		if ((r = record_find(&seen, err)) < 0)
			return r;
		r = json_of(NULL, &text, err);
	} while (record_has_moved(&seen));
	if (r == 0)
		*ret_text = text;
	return r;
}

int run_record(cJSON **ret_record, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = run_json(&text, err);

	return r < 0 ? r : json_parse("run.json", text, strlen(text), ret_record, err);
}

int run_json_archived(const char *id, char **ret_text, struct error *err)
{
	return json_of(id, ret_text, err);
}

/* ---- Loading ---- */

static int load(const char *archived_id, struct run *ret_run, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	struct run run = { 0 };
	char path[PATH_BYTES];
	int r = record_read_json(archived_id, &record, err);

	if (r < 0)
		return r;
	if ((r = record_parse(record_path(archived_id, "run.json", path), record, &run, err)) == 0 &&
	    (r = read_state(archived_id, &run.state, err)) == 0)
		r = config_load(record_path(archived_id, "config", path), &run.config, err);
	for (uint32_t i = 0; r == 0 && i < run.config.sources; i++)
		r = run_commits_use(run.id, record, i, &run.config.source[i].store, err);
	if (r == 0)
		r = run_branch_use(run.id, record, &run.config.sink, run.branch_from, err);
	/* run.json exists, so the missing file is another file of the record. */
	if (r == -ENOENT)
		return error_set(err, -EBADMSG, "%s: the run record lacks state or config", run.id);
	if (r == 0)
		*ret_run = run;
	else
		run_done(&run);
	return r;
}

int run_load(struct run *ret_run, struct error *err)
{
	struct run run = { 0 };
	struct record_identity seen;
	int r;

	/* The files are read one by one. Read them again where they may belong to two records. */
	do {
		run_done(&run);
		if ((r = record_find(&seen, err)) < 0)
			return r;
		r = load(NULL, &run, err);
	} while (record_has_moved(&seen));
	if (r == 0)
		*ret_run = run;
	return r;
}

int run_load_archived(const char *id, struct run *ret_run, struct error *err)
{
	if (!run_is_id(id))
		return error_set(err, -ENOENT, "\"%.100s\" is not a run id", id);
	return load(id, ret_run, err);
}

int run_expire(const struct run *seen, bool *ret_expired, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(run_done) struct run now = { 0 };
	char path[PATH_BYTES];
	int r;

	if ((r = record_lock(&lock, err)) < 0 || (r = run_load(&now, err)) < 0)
		return r;
	*ret_expired =
		strcmp(now.id, seen->id) == 0 && now.ends_s == seen->ends_s && now.state == seen->state;
	return *ret_expired ? record_write_state(path_of(PATH_RUN, "state", path), RUN_EXPIRED, err) : 0;
}

void run_done(struct run *run)
{
	config_done(&run->config);
}
