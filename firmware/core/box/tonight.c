/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/tonight.h"

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/series/series.h"

#include <string.h>
#include <systemd/sd-id128.h>
#include <time.h>

#define FILE_NAME  "tonight.json"
#define LOCK_NAME  "tonight.lock"
#define FILE_BYTES 65536u

static char *path_of_file(char out[static PATH_BYTES])
{
	return path_of(PATH_RUNS, FILE_NAME, out);
}

/* Locks the file of the night, because several programs may start a night, end it or set its reason at the
 * same time. */
static int lock(int *ret_fd, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	return r < 0 ? r : file_lock(path_of(PATH_RUNS, LOCK_NAME, path), ret_fd, err);
}

/* Returns the id of this boot; "" where it is not known, which differs from the id of every boot. */
static char *this_boot(char out[static SD_ID128_STRING_MAX])
{
	sd_id128_t boot;

	*out = '\0';
	return sd_id128_get_boot(&boot) < 0 ? out : sd_id128_to_string(boot, out);
}

static int put(const struct tonight *tonight, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char folder[PATH_BYTES], path[PATH_BYTES], boot[SD_ID128_STRING_MAX];
	int r;

	if (!json_add_u64(object, "from_s", (uint64_t)tonight->from_s) ||
	    !json_add_u64(object, "over_s", (uint64_t)tonight->over_s) ||
	    !cJSON_AddStringToObject(object, "boot", tonight->before_boot ? "" : this_boot(boot)) ||
	    !cJSON_AddStringToObject(object, "by", tonight->by_timer ? "timer" : "hand") ||
	    !cJSON_AddStringToObject(object, "run", tonight->run_id) ||
	    !cJSON_AddStringToObject(object, "series", tonight->series_id) ||
	    !cJSON_AddItemToObject(object, "reason", json_string(tonight->reason)))
		return error_set(err, -ENOMEM, FILE_NAME ": no memory");
	r = json_print_line(object, &text, err);
	if (r < 0 || (r = path_make(path_of(PATH_RUNS, NULL, folder), err)) < 0)
		return r;
	return file_write_durable(path_of_file(path), text, strlen(text), err);
}

static bool is_of_this_boot(const cJSON *object)
{
	const char *noted = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "boot"));
	char boot[SD_ID128_STRING_MAX];

	return noted && *noted && strcmp(noted, this_boot(boot)) == 0;
}

static int load(const char *path, struct tonight *ret_tonight, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	const char *by, *run_id, *reason, *series_id = "";
	struct tonight tonight = { 0 };
	uint64_t from_s, over_s = 0;
	int r = json_read(path, FILE_BYTES, &object, err);

	if (r < 0 || (r = json_get_u64(path, object, "from_s", &from_s, err)) < 0 ||
	    (cJSON_HasObjectItem(object, "over_s") &&
	     (r = json_get_u64(path, object, "over_s", &over_s, err)) < 0) ||
	    (r = json_get_string(path, object, "by", &by, err)) < 0 ||
	    (r = json_get_string(path, object, "run", &run_id, err)) < 0 ||
	    (cJSON_HasObjectItem(object, "series") &&
	     (r = json_get_string(path, object, "series", &series_id, err)) < 0) ||
	    (r = json_get_string(path, object, "reason", &reason, err)) < 0)
		return r;
	tonight.from_s = (int64_t)from_s;
	tonight.over_s = (int64_t)over_s;
	tonight.by_timer = strcmp(by, "timer") == 0;
	tonight.before_boot = !is_of_this_boot(object);
	(void)snprintf(tonight.run_id, sizeof(tonight.run_id), "%s", run_id);
	(void)snprintf(tonight.series_id, sizeof(tonight.series_id), "%s", series_id);
	(void)snprintf(tonight.reason, sizeof(tonight.reason), "%s", reason);
	*ret_tonight = tonight;
	return 0;
}

static bool worked_in(const struct tonight *tonight, const cJSON *series)
{
	return json_number(series, "since_s", 0) >= (double)tonight->from_s;
}

/* Tells whether the series of the current run worked in the night. The current run, that of the winner or the
 * last trial of slot 0, may have trained in an earlier one. */
static bool has_series(const struct tonight *tonight)
{
	CLEANUP(json_free) cJSON *record = NULL, *series = NULL;
	const char *id;

	if (run_record(&record, NULL) < 0)
		return false;
	id = cJSON_GetStringValue(json_member(record, "series.id"));
	return id && series_load(id, &series, NULL) == 0 && worked_in(tonight, series);
}

/* Slot 0 may have parked its trial: then the night has no run that tells its series. */
static void note_series(struct tonight *tonight)
{
	CLEANUP(json_free) cJSON *series = NULL;

	if (series_load_unfinished(&series, NULL) == 0 && worked_in(tonight, series))
		(void)snprintf(tonight->series_id, sizeof(tonight->series_id), "%s", series_id(series));
}

/* Writes the end of the night to the file first, then renames the file. After a power cut between these steps
 * tonight_settle() finds a night with an end, and renames it. */
static int put_over(struct tonight *tonight, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	char id[REPORT_ID_BYTES], folder[PATH_BYTES], from[PATH_BYTES], to[PATH_BYTES];
	int r;

	if (!tonight->over_s) {
		tonight->over_s = time(NULL);
		if (run_load(&run, NULL) == 0)
			(void)snprintf(tonight->run_id, sizeof(tonight->run_id), "%s",
				       tonight_has(tonight, &run) || has_series(tonight) ? run.id : "");
		note_series(tonight);
		if ((r = put(tonight, err)) < 0)
			return r;
	}
	if ((r = path_make(path_of(PATH_REPORTS, NULL, folder), err)) < 0)
		return r;
	(void)report_path(report_id(tonight->from_s, id), "night", to);
	return file_rename_durable(path_of_file(from), to, err);
}

/* Not over is a night in which trials of a series still train, or follow. */
static bool run_is_over(const struct tonight *tonight)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *series = NULL;

	if (series_load_unfinished(&series, NULL) == 0 && series_state_of(series) == SERIES_RUNNING)
		return false;
	return run_load(&run, NULL) == 0 && run_state_is_final(run.state) && tonight_has(tonight, &run);
}

static int begin(bool by_timer, struct error *err)
{
	struct tonight tonight = { .from_s = time(NULL), .by_timer = by_timer };
	CLEANUP(run_done) struct run run = { 0 };
	struct tonight before;
	char path[PATH_BYTES];
	int r;

	if (load(path_of_file(path), &before, NULL) == 0) {
		if (by_timer || before.over_s || run_is_over(&before)) {
			if ((r = put_over(&before, err)) < 0)
				return r;
		} else {
			tonight.from_s = before.from_s;
			memcpy(tonight.run_id, before.run_id, sizeof(tonight.run_id));
		}
	}
	if (!*tonight.run_id && run_load(&run, NULL) == 0 && !run_state_is_final(run.state))
		(void)snprintf(tonight.run_id, sizeof(tonight.run_id), "%s", run.id);
	return put(&tonight, err);
}

int tonight_begin(bool by_timer, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	int r = lock(&fd, err);

	return r < 0 ? r : begin(by_timer, err);
}

int tonight_get(struct tonight *ret_tonight, struct error *err)
{
	struct tonight tonight;
	char path[PATH_BYTES];
	int r = load(path_of_file(path), &tonight, err);

	if (r == 0 && tonight.over_s)
		return error_set(err, -ENOENT, "%s: that night is over", path);
	if (r == 0)
		*ret_tonight = tonight;
	return r;
}

bool tonight_has(const struct tonight *tonight, const struct run *run)
{
	return run->started_s >= tonight->from_s || strcmp(run->id, tonight->run_id) == 0;
}

int tonight_say(const char *reason, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct tonight tonight;
	int r = lock(&fd, err);

	if (r < 0)
		return r;
	if (tonight_get(&tonight, NULL) < 0 &&
	    ((r = begin(false, err)) < 0 || (r = tonight_get(&tonight, err)) < 0))
		return r;
	(void)snprintf(tonight.reason, sizeof(tonight.reason), "%s", reason);
	return put(&tonight, err);
}

/* Locks the file of a night. Returns 1 with the lock, 0 where the file does not exist, or a negative errno.
 */
static int lock_night(const char *path, int *ret_fd, struct error *err)
{
	int r = file_exists(path, err);

	if (r <= 0)
		return r;
	r = lock(ret_fd, err);
	return r < 0 ? r : 1;
}

int tonight_end(int64_t from_s, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct tonight tonight;
	char path[PATH_BYTES];
	int r = lock_night(path_of_file(path), &fd, err);

	if (r <= 0)
		return r;
	if ((r = load(path, &tonight, err)) == -EBADMSG)
		(void)unlink(path);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return tonight.from_s == from_s ? put_over(&tonight, err) : 0;
}

int tonight_settle(struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct tonight tonight;
	char path[PATH_BYTES];
	int r = lock_night(path_of_file(path), &fd, err);

	if (r <= 0)
		return r;
	if (load(path, &tonight, NULL) < 0 || !tonight.over_s)
		return 0;
	return put_over(&tonight, err);
}

int tonight_load_over(const char *id, struct tonight *ret_tonight, struct error *err)
{
	char path[PATH_BYTES];

	return load(report_path(id, "night", path), ret_tonight, err);
}

int tonight_reported(const char *id, struct error *err)
{
	char path[PATH_BYTES];

	if (unlink(report_path(id, "night", path)) < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	return 0;
}
