/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/run/run_record.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static const char *const state_names[] = {
	[RUN_RUNNING] = "running", [RUN_PAUSED] = "paused",   [RUN_STOPPING] = "stopping",
	[RUN_STOPPED] = "stopped", [RUN_EXPIRED] = "expired", [RUN_FINISHED] = "finished",
	[RUN_FAILED] = "failed",
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

/* ---- Which record is current ---- */

/* Returns what has to become the current record where there is none, because a writer was killed between two
 * renames; NULL = nothing. `next` is whole once it has its state. The link `last` leads to a record only once
 * that record is in the archive. */
static const char *in_between(void)
{
	char path[PATH_BYTES];

	if (access(path_of(PATH_RUN, "run.json", path), F_OK) == 0)
		return NULL;
	if (access(path_of(PATH_RUNS, RECORD_NEXT "/state", path), F_OK) == 0)
		return RECORD_NEXT;
	return access(path_of(PATH_RUNS, RECORD_LAST "/state", path), F_OK) == 0 ? RECORD_LAST : NULL;
}

int record_install(const char *which, struct error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int r;

	(void)unlink(path_of(PATH_RUN, NULL, to)); /* removes a link, and leaves a folder as it is */
	r = file_rename_durable(path_of(PATH_RUNS, which, from), to, err);
	/* Remove the link `last`, which otherwise could become current after a later crash. */
	if (r == 0)
		(void)unlink(path_of(PATH_RUNS, RECORD_LAST, from));
	return r;
}

int record_lock(int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char path[PATH_BYTES];
	const char *between;
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	if (r < 0 || (r = file_lock(path_of(PATH_RUNS, "lock", path), &fd, err)) < 0)
		return r;
	between = in_between();
	if (between)
		r = record_install(between, err);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

/* The identity of the current record: PATH_RUN is a folder, or a link and the folder it leads to; zeros =
 * neither.
 */
struct inodes {
	ino_t entry, folder;
};

/* Blocks: while a writer is between two renames. */
static int find_inodes(struct inodes *ret_inodes, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	struct stat st;
	int r = in_between() ? record_lock(&lock, err) : 0;

	(void)path_of(PATH_RUN, NULL, path);
	ret_inodes->entry = lstat(path, &st) == 0 ? st.st_ino : 0;
	ret_inodes->folder = stat(path, &st) == 0 ? st.st_ino : 0;
	return r;
}

/* Tells whether the current record changed, so that files read one by one may belong to two records, or were
 * not found because the record was just moving. */
static bool has_moved(const struct inodes *before)
{
	struct inodes after;

	return find_inodes(&after, NULL) == 0 &&
	       (after.entry != before->entry || after.folder != before->folder);
}

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

static int read_record(const char *archived_id, cJSON **ret_json, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r = file_read(record_path(archived_id, "run.json", path), RECORD_BYTES_MAX, &text, &bytes, err);

	return r < 0 ? r : json_parse(path, text, bytes, ret_json, err);
}

int record_write_json(const char *path, const cJSON *json, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = json_print(json, &text, err);

	return r < 0 ? r : file_write_durable(path, text, strlen(text), err);
}

static int state_of(const char *what, const char *text, enum run_state *ret_state, struct error *err)
{
	for (int i = 0; i < RUN_STATE_MAX; i++)
		if (strcmp(text, state_names[i]) == 0) {
			*ret_state = (enum run_state)i;
			return 0;
		}
	return error_set(err, -EBADMSG, "%s: found state \"%.20s\", expected running, paused ... failed",
			 what, text);
}

static int read_state(const char *archived_id, enum run_state *ret_state, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = file_read(record_path(archived_id, "state", path), 64, &text, NULL, err);

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	return state_of(path, text, ret_state, err);
}

int record_write_state(const char *path, enum run_state state, struct error *err)
{
	char text[32];
	int bytes = snprintf(text, sizeof(text), "%s\n", state_names[state]);

	return file_write_durable(path, text, (uint64_t)bytes, err);
}

int run_state_get(enum run_state *ret_state, struct error *err)
{
	struct inodes seen;
	int r;

	do {
		if ((r = find_inodes(&seen, err)) < 0)
			return r;
		r = read_state(NULL, ret_state, err);
	} while (r < 0 && has_moved(&seen));
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
		return error_set(err, -EPERM, "the run is %s, it cannot become %s", state_names[now],
				 state_names[state]);
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
	    (r = record_lock(&lock, err)) < 0 || (r = read_record(archived_id, &record, err)) < 0)
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

int run_note(const char *json_object, struct error *err)
{
	return note(NULL, json_object, err);
}

int run_reason_set(const char *reason, struct error *err)
{
	CLEANUP(json_free) cJSON *members = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if (!cJSON_AddItemToObject(members, "reason", json_string(reason)))
		return error_set(err, -ENOMEM, "run.json: no memory");
	r = json_print(members, &text, err);
	return r < 0 ? r : run_note(text, err);
}

int run_note_archived(const char *id, const char *json_object, struct error *err)
{
	return note(id, json_object, err);
}

static int json_of(const char *archived_id, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	enum run_state state;
	int r = read_record(archived_id, &record, err);

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
	struct inodes seen;
	char *text = NULL;
	int r;

	do {
		free(TAKE(text));
		if ((r = find_inodes(&seen, err)) < 0)
			return r;
		r = json_of(NULL, &text, err);
	} while (has_moved(&seen));
	if (r == 0)
		*ret_text = text;
	return r;
}

int run_json_archived(const char *id, char **ret_text, struct error *err)
{
	return json_of(id, ret_text, err);
}

/* ---- Loading ---- */

static bool is_run_id(const char *id)
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

/* Records of older versions have no machine. */
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

int record_parse(const char *what, const cJSON *record, struct run *ret_run, struct error *err)
{
	const char *id, *start;
	uint64_t version, started, ends = 0;
	int r;

	if ((r = json_get_u64(what, record, "version", &version, err)) < 0 ||
	    (r = json_get_string(what, record, "id", &id, err)) < 0 ||
	    (r = json_get_u64(what, record, "started_s", &started, err)) < 0 ||
	    (cJSON_HasObjectItem(record, "ends_s") &&
	     (r = json_get_u64(what, record, "ends_s", &ends, err)) < 0) ||
	    (r = json_get_string(what, record, "start_run", &start, err)) < 0 ||
	    (r = parse_machine(what, record, ret_run->machine, err)) < 0 ||
	    (r = parse_sha256(what, record, "plan_sha256", ret_run->plan_sha256, err)) < 0 ||
	    (cJSON_HasObjectItem(record, "weights_sha256") &&
	     (r = parse_sha256(what, record, "weights_sha256", ret_run->weights_sha256, err)) < 0))
		return r;
	if (version != RUN_VERSION)
		return error_set(err, -EBADMSG, "%s: found version %" PRIu64 ", expected %u", what, version,
				 RUN_VERSION);
	if (!is_run_id(id) || (*start && !is_run_id(start)))
		return error_set(err, -EBADMSG,
				 "%s: found id \"%.100s\", start_run \"%.100s\", expected run ids", what, id,
				 start);
	(void)snprintf(ret_run->id, sizeof(ret_run->id), "%s", id);
	(void)snprintf(ret_run->start_run, sizeof(ret_run->start_run), "%s", start);
	ret_run->started_s = (int64_t)started;
	ret_run->ends_s = (int64_t)ends;
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
	    (r = state_of(what, state, &run.state, err)) < 0)
		return r;
	*ret_run = run;
	return 0;
}

static int load(const char *archived_id, struct run *ret_run, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	struct run run = { 0 };
	char path[PATH_BYTES];
	int r = read_record(archived_id, &record, err);

	if (r < 0)
		return r;
	if ((r = record_parse(record_path(archived_id, "run.json", path), record, &run, err)) == 0 &&
	    (r = read_state(archived_id, &run.state, err)) == 0)
		r = config_load(record_path(archived_id, "config", path), &run.config, err);
	/* run.json exists, so another file of the record is missing. */
	if (r == -ENOENT)
		return error_set(err, -EBADMSG, "%s: the run record lacks state or config", run.id);
	if (r == 0)
		*ret_run = run;
	return r;
}

int run_load(struct run *ret_run, struct error *err)
{
	struct run run = { 0 };
	struct inodes seen;
	int r;

	/* The files are read one by one: read again if they may belong to two records. */
	do {
		run_done(&run);
		if ((r = find_inodes(&seen, err)) < 0)
			return r;
		r = load(NULL, &run, err);
	} while (has_moved(&seen));
	if (r == 0)
		*ret_run = run;
	return r;
}

int run_load_archived(const char *id, struct run *ret_run, struct error *err)
{
	if (!is_run_id(id))
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
