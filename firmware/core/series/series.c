/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/series.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/version.h"
#include "core/series/objective.h"

#include <assert.h>
#include <dirent.h>
#include <string.h>
#include <time.h>

#define FOLDER       "series"
#define SERIES_JSON  "series.json"
#define GIVEN_UP     "given-up" /* beside series.json: a person gave the series up */
#define LOCK_FILE    "series.lock"
#define LOCK_SOON_MS 2000u
#define STAMP_BYTES  (sizeof("YYYYMMDD-HHMMSS") - 1)

/* PATH_RUNS and the store have the same folders. */
static char *key_of(const char *id, const char *name, char out[static SERIES_KEY_BYTES])
{
	(void)snprintf(out, SERIES_KEY_BYTES, FOLDER "/%.95s%s%s", id, *name ? "/" : "", name);
	return out;
}

char *series_key(const char *id, char out[static SERIES_KEY_BYTES])
{
	return key_of(id, SERIES_JSON, out);
}

char *series_file(const char *id, const char *name, char out[static PATH_BYTES])
{
	char key[SERIES_KEY_BYTES];

	return path_of(PATH_RUNS, key_of(id, name, key), out);
}

char *series_path(const char *id, char out[static PATH_BYTES])
{
	return series_file(id, SERIES_JSON, out);
}

static bool is_id(const char *id)
{
	const size_t length = strlen(id);

	return length > STAMP_BYTES && length < RUN_ID_BYTES && *id != '.' &&
	       strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == length;
}

/* ---- Parsing ---- */

static int check_trial(const char *what, const cJSON *trial, struct error *err)
{
	const char *state, *text;
	int r;

	if ((r = json_get_string(what, trial, "name", &text, err)) < 0 ||
	    (r = json_get_string(what, trial, "run", &text, err)) < 0 ||
	    (r = json_get_string(what, trial, "state", &state, err)) < 0)
		return r;
	for (int i = 0; i < TRIAL_STATE_MAX; i++)
		if (strcmp(state, trial_state_name((enum trial_state)i)) == 0)
			return 0;
	return error_set(err, -EBADMSG,
			 "%s: trial: found state \"%.20s\", expected waiting, running ... failed", what,
			 state);
}

static int check_state(const char *what, const char *state, struct error *err)
{
	for (int i = 0; i < SERIES_STATE_MAX; i++)
		if (strcmp(state, series_state_name((enum series_state)i)) == 0)
			return 0;
	return error_set(err, -EBADMSG, "%s: found state \"%.20s\", expected running, stopped ... failed",
			 what, state);
}

static int check(const char *what, const cJSON *series, struct error *err)
{
	const cJSON *trials = cJSON_GetObjectItemCaseSensitive(series, "trials"), *trial;
	const char *id, *state, *objective, *text;
	struct objective found;
	uint64_t version;
	int r;

	if ((r = json_get_u64(what, series, "version", &version, err)) < 0 ||
	    (r = json_get_string(what, series, "id", &id, err)) < 0 ||
	    (r = json_get_string(what, series, "state", &state, err)) < 0 ||
	    (r = json_get_string(what, series, "objective", &objective, err)) < 0 ||
	    (r = json_get_string(what, series, "direction", &text, err)) < 0 ||
	    (r = json_get_string(what, series, "method", &text, err)) < 0 ||
	    (r = json_get_string(what, series, "config", &text, err)) < 0 ||
	    (r = check_state(what, state, err)) < 0)
		return r;
	if (version != SERIES_VERSION || !is_id(id) || !cJSON_IsArray(trials))
		return error_set(err, -EBADMSG,
				 "%s: found version %ju, id \"%.100s\", expected version %u, the id of a "
				 "series, a list of trials",
				 what, (uintmax_t)version, id, SERIES_VERSION);
	if (!objective_find(objective, &found))
		return error_set(err, -EBADMSG, "%s: there is no objective \"%.40s\"", what, objective);
	cJSON_ArrayForEach(trial, trials)
		if ((r = check_trial(what, trial, err)) < 0)
			return r;
	return 0;
}

int series_parse(const char *what, const char *text, uint64_t bytes, cJSON **ret_series, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r = json_parse(what, text, bytes, &series, err);

	if (r == 0 && (r = check(what, series, err)) == 0)
		*ret_series = TAKE(series);
	return r;
}

int series_load(const char *id, cJSON **ret_series, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	char path[PATH_BYTES];
	int r;

	if (!is_id(id))
		return error_set(err, -ENOENT, "\"%.100s\" is not the id of a series", id);
	if ((r = json_read(series_path(id, path), SERIES_JSON_MAX, &series, err)) == 0 &&
	    (r = check(path, series, err)) == 0)
		*ret_series = TAKE(series);
	return r;
}

/* ---- The folder ---- */

/* Orders ids by their time, which stands at their end, then by name. */
static int by_time(const void *a, const void *b)
{
	const char *x = a, *y = b;
	const int r = strcmp(x + strlen(x) - STAMP_BYTES, y + strlen(y) - STAMP_BYTES);

	return r ? r : strcmp(x, y);
}

static int count_entries(const char *folder, struct dirent ***ret_entries, struct error *err)
{
	const int count = scandir(folder, ret_entries, NULL, NULL);

	if (count >= 0 || errno == ENOENT)
		return count < 0 ? 0 : count;
	return error_set(err, -errno, "%s: cannot list it: %s", folder, strerror(errno));
}

int series_list(char (**ret_ids)[RUN_ID_BYTES], uint32_t *ret_count, struct error *err)
{
	struct dirent **entries = NULL;
	char folder[PATH_BYTES], path[PATH_BYTES];
	char(*ids)[RUN_ID_BYTES];
	uint32_t found = 0;
	const int count = count_entries(path_of(PATH_RUNS, FOLDER, folder), &entries, err);

	if (count < 0)
		return count;
	ids = calloc((size_t)count + 1, sizeof(*ids));
	for (int i = 0; i < count; i++) {
		if (ids && is_id(entries[i]->d_name) &&
		    file_exists(series_path(entries[i]->d_name, path), NULL) > 0)
			(void)snprintf(ids[found++], sizeof(*ids), "%.95s", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (!ids)
		return error_set(err, -ENOMEM, "%s: no memory for %d names", folder, count);
	qsort(ids, found, sizeof(*ids), by_time);
	*ret_ids = ids;
	*ret_count = found;
	return 0;
}

/* Loads a series of the folder. Returns 0 where no program can read its record, because that is no reason to
 * stop every night; else 1. */
static int load_good(const char *id, cJSON **ret_series, struct error *err)
{
	int r = series_load(id, ret_series, err);

	if (r != -E2BIG && r != -EBADMSG && r != -ENOENT)
		return r < 0 ? r : 1;
	log_warning("%s; going on without this series", err ? err->text : id);
	return 0;
}

int series_load_unfinished(cJSON **ret_series, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	uint32_t count = 0;
	int r = series_list(&ids, &count, err);

	for (uint32_t i = count; r == 0 && i > 0; i--) {
		CLEANUP(json_free) cJSON *series = NULL;

		r = load_good(ids[i - 1], &series, err);
		if (r > 0 && !series_is_final(series)) {
			*ret_series = TAKE(series);
			return 0;
		}
		r = r < 0 ? r : 0;
	}
	return r < 0 ? r : error_set(err, -ENOENT, "no series is unfinished");
}

unsigned series_slots_tonight(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == 0 ? series_slots(series) : 1;
}

/* Removes the oldest series, to make room for another, without an error: what stays is removed the next time.
 */
static void trim(void)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	char path[PATH_BYTES];
	uint32_t count = 0;

	if (series_list(&ids, &count, NULL) < 0)
		return;
	for (uint32_t i = 0; i + SERIES_KEPT_MAX <= count; i++) {
		path_empty(series_file(ids[i], "", path));
		(void)rmdir(path);
	}
}

/* ---- Writing ---- */

int series_lock(int *ret_fd, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	return r < 0 ? r : file_lock(path_of(PATH_RUNS, LOCK_FILE, path), ret_fd, err);
}

int series_lock_soon(int *ret_fd, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	if (r < 0 ||
	    (r = file_lock_within(path_of(PATH_RUNS, LOCK_FILE, path), LOCK_SOON_MS, ret_fd, err)) != -EBUSY)
		return r;
	return error_set(err, r, "a trial begins or ends at this moment; try again");
}

int series_write(const cJSON *series, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char folder[PATH_BYTES], path[PATH_BYTES];
	int r = json_print(series, &text, err);

	(void)series_file(series_id(series), "", folder);
	if (r == 0 && strlen(text) > SERIES_JSON_MAX)
		r = error_set(err, -E2BIG, "%s/series.json: %zu bytes to write, at most %u expected", folder,
			      strlen(text), SERIES_JSON_MAX);
	if (r < 0 || (r = path_make(folder, err)) < 0)
		return r;
	return run_write_locked(series_path(series_id(series), path), text, err);
}

/* Makes the id from the name and the time, and adds seconds until no series has it. Returns the time. */
static int64_t make_id(const char *name, char id[static RUN_ID_BYTES])
{
	char path[PATH_BYTES], stamp[STAMP_BYTES + 1];
	time_t now = time(NULL);
	struct tm tm;

	for (;; now++) {
		(void)gmtime_r(&now, &tm);
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
		(void)snprintf(id, RUN_ID_BYTES, "%.64s-series-%.15s", name, stamp);
		if (file_exists(series_path(id, path), NULL) == 0)
			return now;
	}
}

int series_create(const char *name, cJSON *series, struct error *err)
{
	CLEANUP(json_free) cJSON *other = NULL;
	char id[RUN_ID_BYTES];
	const int64_t started = make_id(name, id);
	int r = series_load_unfinished(&other, err);

	if (r == 0)
		return error_set(err, -EBUSY, "%s is %s, so no other series can begin", series_id(other),
				 series_state_name(series_state_of(other)));
	if (r != -ENOENT)
		return r;
	if (!series_set(series, "version", cJSON_CreateNumber(SERIES_VERSION)) ||
	    !series_set(series, "id", cJSON_CreateString(id)) ||
	    !series_set(series, "name", cJSON_CreateString(name)) ||
	    !series_set(series, "state", cJSON_CreateString(series_state_name(SERIES_RUNNING))) ||
	    !series_set(series, "started_s", cJSON_CreateNumber((double)started)) ||
	    !series_set(series, "ended_s", cJSON_CreateNumber(0)) ||
	    !series_set(series, "kiln_version", cJSON_CreateString(KILN_VERSION)))
		return error_set(err, -ENOMEM, "series.json: no memory");
	trim();
	r = check(SERIES_JSON, series, err);
	return r < 0 ? r : series_write(series, err);
}

int series_rename(cJSON *series, struct error *err)
{
	char folder[PATH_BYTES], id[RUN_ID_BYTES];
	int64_t started;

	/* A crash between the two loses a series that has not begun: the night makes another one. */
	path_empty(series_file(series_id(series), "", folder));
	(void)rmdir(folder);
	started = make_id(series_text(series, "name"), id);
	if (!series_set(series, "id", cJSON_CreateString(id)) ||
	    !series_set(series, "started_s", cJSON_CreateNumber((double)started)))
		return error_set(err, -ENOMEM, "series.json: no memory");
	return series_write(series, err);
}

/* ---- Giving up ---- */

int series_give_up(const cJSON *series, struct error *err)
{
	char path[PATH_BYTES];

	return file_write_durable(series_file(series_id(series), GIVEN_UP, path), "", 0, err);
}

bool series_is_given_up(const cJSON *series)
{
	char path[PATH_BYTES];

	return file_exists(series_file(series_id(series), GIVEN_UP, path), NULL) > 0;
}
