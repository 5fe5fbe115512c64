/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run.h"

#include "core/json.h"
#include "core/paths.h"
#include "core/version.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define RECORD_BYTES_MAX (4u << 20)

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

/* One writer at a time; readers need no lock, since every file is replaced whole. */
static int lock_runs(int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	if (r < 0)
		return r;
	fd = open(path_of(PATH_RUNS, "lock", path), O_RDWR | O_CREAT | O_CLOEXEC, 0660);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return error_set(err, -errno, "%s: cannot lock it: %s", path, strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

/* ---- run.json
 * ------------------------------------------------------------------------------------------------------- */

/* A file of the current run, or of an archived one. */
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

static int write_json(const char *path, const cJSON *json, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = json_print(json, &text, err);

	return r < 0 ? r : file_write_durable(path, text, strlen(text), err);
}

static int state_from(const char *what, const char *text, enum run_state *ret_state, struct error *err)
{
	for (int i = 0; i < RUN_STATE_MAX; i++)
		if (strncmp(text, state_names[i], strlen(state_names[i])) == 0) {
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

	return r < 0 ? r : state_from(path, text, ret_state, err);
}

int run_state_get(enum run_state *ret_state, struct error *err)
{
	return read_state(NULL, ret_state, err);
}

static int write_state(const char *path, enum run_state state, struct error *err)
{
	char text[32];
	int bytes = snprintf(text, sizeof(text), "%s\n", state_names[state]);

	return file_write_durable(path, text, (uint64_t)bytes, err);
}

int run_state_set(enum run_state state, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	int r = lock_runs(&lock, err);

	return r < 0 ? r : write_state(path_of(PATH_RUN, "state", path), state, err);
}

int run_note(const char *json_object, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *record = NULL, *note = NULL;
	char path[PATH_BYTES];
	int r;

	r = json_parse("run_note", json_object, strlen(json_object), &note, err);
	if (r < 0)
		return r;
	r = lock_runs(&lock, err);
	if (r < 0)
		return r;
	r = read_record(NULL, &record, err);
	if (r < 0)
		return r;
	while (note->child) {
		cJSON *item = cJSON_DetachItemViaPointer(note, note->child);

		cJSON_DeleteItemFromObjectCaseSensitive(record, item->string);
		cJSON_AddItemToObject(record, item->string, item);
	}
	return write_json(path_of(PATH_RUN, "run.json", path), record, err);
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
	cJSON_AddStringToObject(record, "state", run_state_name(state));
	return json_print(record, ret_text, err);
}

int run_json(char **ret_text, struct error *err)
{
	return json_of(NULL, ret_text, err);
}

int run_json_archived(const char *id, char **ret_text, struct error *err)
{
	return json_of(id, ret_text, err);
}

/* ---- Loading
 * ---------------------------------------------------------------------------------------------------------
 */

static bool is_run_id(const char *id)
{
	size_t length = strlen(id);

	return length >= 1 && length < RUN_ID_BYTES && id[0] != '.' &&
	       strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

static int fill_run(const char *what, const cJSON *record, struct run *run, struct error *err)
{
	const char *id, *plan;
	uint64_t version, started;
	int r;

	if ((r = json_get_u64(what, record, "version", &version, err)) < 0 ||
	    (r = json_get_string(what, record, "id", &id, err)) < 0 ||
	    (r = json_get_u64(what, record, "started_s", &started, err)) < 0 ||
	    (r = json_get_string(what, record, "plan_sha256", &plan, err)) < 0)
		return r;
	if (version != RUN_VERSION)
		return error_set(err, -EBADMSG, "%s: found version %" PRIu64 ", expected %u", what, version,
				 RUN_VERSION);
	if (!is_run_id(id) || strlen(plan) >= sizeof(run->plan_sha256))
		return error_set(
			err, -EBADMSG,
			"%s: found id \"%.100s\", plan_sha256 \"%.100s\", expected a run id and a SHA-256",
			what, id, plan);
	(void)snprintf(run->id, sizeof(run->id), "%s", id);
	(void)snprintf(run->plan_sha256, sizeof(run->plan_sha256), "%s", plan);
	run->started_s = (int64_t)started;
	return 0;
}

static int load(const char *archived_id, struct run *ret_run, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	struct run run = { 0 };
	char path[PATH_BYTES];
	int r;

	if ((r = read_record(archived_id, &record, err)) < 0 ||
	    (r = read_state(archived_id, &run.state, err)) < 0 ||
	    (r = fill_run(record_path(archived_id, "run.json", path), record, &run, err)) < 0 ||
	    (r = config_load(record_path(archived_id, "config", path), &run.config, err)) < 0)
		return r;
	*ret_run = run;
	return 0;
}

int run_load(struct run *ret_run, struct error *err)
{
	return load(NULL, ret_run, err);
}

int run_load_archived(const char *id, struct run *ret_run, struct error *err)
{
	if (!is_run_id(id))
		return error_set(err, -ENOENT, "\"%.100s\" is not a run id", id);
	return load(id, ret_run, err);
}

void run_done(struct run *run)
{
	config_done(&run->config);
}

/* ---- Beginning
 * ------------------------------------------------------------------------------------------------------- */

static bool id_taken(const char *id)
{
	char path[PATH_BYTES];

	return access(path_of(PATH_ARCHIVE, id, path), F_OK) == 0;
}

/* Two runs begun in one second must not share an id. */
static int64_t make_id(const char *name, char id[static RUN_ID_BYTES])
{
	time_t now = time(NULL);

	for (;; now++) {
		char stamp[32];
		struct tm tm;

		(void)gmtime_r(&now, &tm);
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
		(void)snprintf(id, RUN_ID_BYTES, "%s-%s", name, stamp);
		if (!id_taken(id))
			return now;
	}
}

static int remove_tree(const char *folder, struct error *err)
{
	char path[PATH_BYTES + 256];
	DIR *entries = opendir(folder);
	struct dirent *entry;

	if (!entries)
		return errno == ENOENT ? 0 : error_set(err, -errno, "%s: %s", folder, strerror(errno));
	while ((entry = readdir(entries))) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)unlink(path);
	}
	(void)closedir(entries);
	return rmdir(folder) < 0 ? error_set(err, -errno, "%s: cannot remove it: %s", folder, strerror(errno))
				 : 0;
}

/* Keep the newest archives: ids sort by name first, so by their folder's time. */
static int trim_archive(struct error *err)
{
	char folder[PATH_BYTES], oldest[PATH_BYTES];

	for (;;) {
		DIR *entries = opendir(path_of(PATH_ARCHIVE, NULL, folder));
		struct timespec oldest_time = { 0 };
		struct dirent *entry;
		unsigned count = 0;
		int r;

		if (!entries)
			return error_set(err, -errno, "%s: %s", folder, strerror(errno));
		while ((entry = readdir(entries))) {
			char path[PATH_BYTES];
			struct stat st;

			if (entry->d_name[0] == '.' ||
			    stat(path_of(PATH_ARCHIVE, entry->d_name, path), &st) < 0)
				continue;
			if (count++ == 0 || st.st_mtim.tv_sec < oldest_time.tv_sec ||
			    (st.st_mtim.tv_sec == oldest_time.tv_sec &&
			     st.st_mtim.tv_nsec < oldest_time.tv_nsec)) {
				oldest_time = st.st_mtim;
				(void)snprintf(oldest, sizeof(oldest), "%s", path);
			}
		}
		(void)closedir(entries);
		if (count <= RUN_ARCHIVES_MAX)
			return 0;
		r = remove_tree(oldest, err);
		if (r < 0)
			return r;
	}
}

static int archive_current(const char *id, struct error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int r = path_make(path_of(PATH_ARCHIVE, NULL, to), err);

	if (r < 0)
		return r;
	r = file_rename_durable(path_of(PATH_RUN, NULL, from), path_of(PATH_ARCHIVE, id, to), err);
	return r < 0 ? r : trim_archive(err);
}

/* A whole record in a folder beside `current`, then one rename. */
static int install_record(const cJSON *record, const char *config_text, struct error *err)
{
	char folder[PATH_BYTES], path[PATH_BYTES], current[PATH_BYTES];
	int r;

	path_of(PATH_RUNS, "current.tmp", folder);
	if ((r = remove_tree(folder, err)) < 0 || (r = path_make(folder, err)) < 0 ||
	    (r = file_write_durable(path_of(PATH_RUNS, "current.tmp/config", path), config_text,
				    strlen(config_text), err)) < 0 ||
	    (r = write_json(path_of(PATH_RUNS, "current.tmp/run.json", path), record, err)) < 0 ||
	    (r = write_state(path_of(PATH_RUNS, "current.tmp/state", path), RUN_RUNNING, err)) < 0)
		return r;
	return file_rename_durable(folder, path_of(PATH_RUN, NULL, current), err);
}

static int make_record(const char *config_file, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	char id[RUN_ID_BYTES];
	int64_t started;
	int r;

	if ((r = config_load(config_file, &config, err)) < 0 ||
	    (r = file_read(config_file, RECORD_BYTES_MAX, &text, NULL, err)) < 0)
		return r;
	started = make_id(config.run.name, id);
	cJSON_AddNumberToObject(record, "version", RUN_VERSION);
	cJSON_AddStringToObject(record, "id", id);
	cJSON_AddStringToObject(record, "name", config.run.name);
	json_add_u64(record, "started_s", (uint64_t)started);
	json_add_u64(record, "seed", config.run.seed);
	cJSON_AddStringToObject(record, "plan_sha256", "");
	cJSON_AddStringToObject(record, "kiln_version", KILN_VERSION);
	cJSON_AddStringToObject(record, "config", text);
	return install_record(record, text, err);
}

int run_begin(const char *config_file, struct run *ret_run, char previous_id[static RUN_ID_BYTES],
	      bool *ret_adopted, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	struct run run = { 0 };
	char path[PATH_BYTES];
	int r = lock_runs(&lock, err);

	if (r < 0)
		return r;
	previous_id[0] = '\0';
	r = run_load(&run, err);
	if (r == 0 && !run_state_is_final(run.state)) {
		*ret_adopted = true;
		*ret_run = run;
		ret_run->state = RUN_RUNNING;
		return write_state(path_of(PATH_RUN, "state", path), RUN_RUNNING, err);
	}
	if (r < 0 && r != -ENOENT)
		return error_prefix(err, "the run record is damaged");
	if (r == 0) {
		(void)snprintf(previous_id, RUN_ID_BYTES, "%s", run.id);
		run_done(&run);
		r = archive_current(previous_id, err);
		if (r < 0)
			return r;
	}
	*ret_adopted = false;
	r = make_record(config_file, err);
	return r < 0 ? r : run_load(ret_run, err);
}

int run_restore(const char *json_text, uint64_t bytes, struct run *ret_run, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *record = NULL;
	const char *config_text;
	struct run run = { 0 };
	int r;

	if ((r = json_parse("run.json", json_text, bytes, &record, err)) < 0 ||
	    (r = fill_run("run.json", record, &run, err)) < 0 ||
	    (r = json_get_string("run.json", record, "config", &config_text, err)) < 0 ||
	    (r = lock_runs(&lock, err)) < 0 || (r = install_record(record, config_text, err)) < 0)
		return r;
	return run_load(ret_run, err);
}
