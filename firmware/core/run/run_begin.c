/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/base/version.h"
#include "core/config/config_held.h"
#include "core/run/run_record.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- Making a record ---- */

/* Checks that a new run.json leaves room for what the programs add to it. `what`: its name in errors. */
static int check_room(const char *what, const cJSON *record, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = json_print(record, &text, err);

	if (r == 0 && strlen(text) > RECORD_NEW_MAX)
		r = error_set(err, -EBADMSG, "%s: %zu bytes when Kiln writes it, at most %u expected", what,
			      strlen(text), RECORD_NEW_MAX);
	return r;
}

int run_check_room(const char *what, const char *json_text, uint64_t bytes, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	int r = json_parse(what, json_text, bytes, &record, err);

	return r < 0 ? r : check_room(what, record, err);
}

/* Writes run.json of a new record, and checks that run_load() will take it. */
static int write_new_json(const cJSON *record, struct error *err)
{
	CLEANUP(json_free) cJSON *written = NULL;
	struct run run = { 0 };
	char path[PATH_BYTES];
	int r = check_room("run.json", record, err);

	(void)path_of(PATH_SLOT, RECORD_NEXT "/run.json", path);
	if (r < 0 || (r = record_write_json(path, record, err)) < 0 ||
	    (r = json_read(path, RUN_JSON_MAX, &written, err)) < 0)
		return r;
	return record_parse(path, written, &run, err);
}

/* Makes a record in PATH_SLOT/next. Writes the file `state` last, so a record that has this file is
 * complete. */
static int make_next(const cJSON *record, const char *config_text, const char *plan, const char *start,
		     struct error *err)
{
	CLEANUP(config_done) struct config frozen = { 0 };
	char folder[PATH_BYTES], path[PATH_BYTES];
	int r;

	(void)path_of(PATH_SLOT, RECORD_NEXT, folder);
	if ((r = record_remove_folder(folder, err)) < 0 || (r = path_make(folder, err)) < 0 ||
	    (r = file_write_durable(path_of(PATH_SLOT, RECORD_NEXT "/config", path), config_text,
				    strlen(config_text), err)) < 0 ||
	    (r = config_load(path, &frozen, err)) < 0 || (r = write_new_json(record, err)) < 0)
		return r;
	if (plan && (r = file_rename_durable(plan, path_of(PATH_SLOT, RECORD_NEXT "/plan", path), err)) < 0)
		return r;
	if (start && (r = file_rename_durable(start, path_of(PATH_SLOT, RECORD_NEXT "/" RUN_START_FILE, path),
					      err)) < 0)
		return r;
	return record_write_state(path_of(PATH_SLOT, RECORD_NEXT "/state", path), RUN_RUNNING, err);
}

static bool has_id(const char *record, const char *id)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	const char *found;

	return json_read(path_of(PATH_SLOT, record, path), RUN_JSON_MAX, &json, NULL) == 0 &&
	       json_get_string(record, json, "id", &found, NULL) == 0 && strcmp(found, id) == 0;
}

static bool slot_has_id(unsigned slot, const char *id)
{
	const unsigned mine = slot_use(slot);
	const bool found =
		slot != mine && (has_id("current/run.json", id) || has_id(RECORD_NEXT "/run.json", id));

	(void)slot_use(mine);
	return found;
}

/* Tells whether another slot has a run with this id. */
static bool is_in_a_slot(const char *id)
{
	char folder[PATH_BYTES];
	DIR *entries = opendir(path_of(PATH_RUNS, NULL, folder));
	struct dirent *entry;
	bool found = slot_now() > 0 && slot_has_id(0, id);
	unsigned slot;

	while (!found && entries && (entry = readdir(entries)))
		found = sscanf(entry->d_name, "slot-%u", &slot) == 1 && slot < SLOTS_MAX &&
			slot_has_id(slot, id);
	if (entries)
		(void)closedir(entries);
	return found;
}

char *run_id_name(const struct config *config, char out[static RUN_ID_BYTES])
{
	char machine[MACHINE_ID_BYTES];
	struct config_lakefs parts;
	const bool marked = config_lakefs(config->sink.url, &parts) && *machine_id(machine);

	(void)snprintf(out, RUN_ID_BYTES, "%.64s%s%.*s", config->run.name, marked ? "-" : "",
		       marked ? RUN_ID_MARK : 0, machine);
	return out;
}

/* Makes the id of a new run from its name (run_id_name()) and the time; adds seconds until the id differs
 * from `last_id`, from all ids in the archive, and from those of parked runs and of other slots. Returns the
 * time in the id.
 */
static int64_t make_id(const char *name, const char *last_id, char id[static RUN_ID_BYTES])
{
	time_t now = time(NULL);
	char path[PATH_BYTES];

	for (;; now++) {
		char stamp[32];
		struct tm tm;

		(void)gmtime_r(&now, &tm);
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
		(void)snprintf(id, RUN_ID_BYTES, "%s-%s", name, stamp);
		if (strcmp(id, last_id) != 0 && access(path_of(PATH_ARCHIVE, id, path), F_OK) < 0 &&
		    !run_is_parked(id) && !is_in_a_slot(id))
			return now;
	}
}

static bool add_members(cJSON *record, const cJSON *members)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, members)
		if (!cJSON_AddItemToObject(record, item->string, cJSON_Duplicate(item, true)))
			return false;
	return true;
}

static bool fill_record(cJSON *record, const struct config *config, const char *text, const char *last_id,
			const struct run_start *start)
{
	char id[RUN_ID_BYTES], name[RUN_ID_BYTES];
	int64_t started = make_id(run_id_name(config, name), last_id, id);

	return cJSON_AddNumberToObject(record, "version", RUN_VERSION) &&
	       cJSON_AddStringToObject(record, "id", id) &&
	       cJSON_AddStringToObject(record, "name", config->run.name) &&
	       json_add_u64(record, "started_s", (uint64_t)started) &&
	       json_add_u64(record, "seed", config->run.seed) &&
	       cJSON_AddStringToObject(record, "start_run", start && start->run_id ? start->run_id : "") &&
	       (!start || !start->sha256 ||
		cJSON_AddStringToObject(record, "weights_sha256", start->sha256)) &&
	       cJSON_AddStringToObject(record, "plan_sha256", "") &&
	       cJSON_AddStringToObject(record, "kiln_version", KILN_VERSION) &&
	       cJSON_AddItemToObject(record, "schema", config_schema_json(config)) &&
	       cJSON_AddStringToObject(record, "config", text) &&
	       add_members(record, start ? start->members : NULL);
}

static int make_new_run(const char *config_file, const char *last_id, const struct run_start *start,
			struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	int r;

	if ((r = config_load(config_file, &config, err)) < 0 ||
	    (r = file_read(config_file, RUN_JSON_MAX, &text, NULL, err)) < 0)
		return r;
	if (!fill_record(record, &config, text, last_id, start))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return make_next(record, text, NULL, start ? start->file : NULL, err);
}

/* ---- What kiln-oneshot begin calls ---- */

/* Removes the reason why a program of this run ended for good, because the run is tried again. */
static int forget_reason(struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	char path[PATH_BYTES];
	int r = json_read(path_of(PATH_RUN, "run.json", path), RUN_JSON_MAX, &record, err);

	if (r < 0)
		return r;
	if (!cJSON_HasObjectItem(record, "reason"))
		return 0;
	cJSON_DeleteItemFromObjectCaseSensitive(record, "reason");
	return record_write_json(path, record, err);
}

static int adopt(struct run *run, struct error *err)
{
	char path[PATH_BYTES];
	int r;

	/* Remove the request to stop of a stopped run, because traind has already carried it out. In another
	 * state traind has not carried out the request yet, so it is not removed. */
	if (run->state == RUN_STOPPED)
		run_want_forget_stop();
	(void)unlink(path_of(PATH_RUN, RUN_REST_FILE, path));
	if ((r = forget_reason(err)) < 0 || run->state == RUN_RUNNING)
		return r;
	r = record_write_state(path_of(PATH_RUN, "state", path), RUN_RUNNING, err);
	if (r == 0)
		run->state = RUN_RUNNING;
	return r;
}

int run_begin(const char *config_file, const char *last_id, const struct run_start *start,
	      struct run *ret_run, bool *ret_adopted, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(run_done) struct run old = { 0 };
	int r = record_lock(&lock, err), there;

	if (r < 0)
		return r;
	there = run_load(&old, err);
	if (there < 0 && there != -ENOENT)
		return there;
	*ret_adopted = there == 0 && !run_state_is_final(old.state);
	if (*ret_adopted) {
		r = adopt(&old, err);
		if (r < 0)
			return r;
		*ret_run = old;
		old = (struct run){ 0 };
		return 0;
	}
	if ((r = make_new_run(config_file, there == 0 ? old.id : last_id, start, err)) < 0 ||
	    (there == 0 && (r = record_archive(old.id, err)) < 0) ||
	    (r = record_install(RECORD_NEXT, err)) < 0)
		return r;
	return run_load(ret_run, err);
}

int run_rename(struct run *run, struct error *err)
{
	char id[RUN_ID_BYTES], name[RUN_ID_BYTES], note[RUN_ID_BYTES + 64];
	struct run renamed;
	int64_t started = make_id(run_id_name(&run->config, name), run->id, id);
	int r;

	(void)snprintf(note, sizeof(note), "{\"id\": \"%s\", \"started_s\": %" PRId64 "}", id, started);
	if ((r = run_note(note, err)) < 0 || (r = run_load(&renamed, err)) < 0)
		return r;
	run_done(run);
	*run = renamed;
	return 0;
}

int run_restore(const char *json_text, uint64_t bytes, const char *plan, const char *start,
		struct run *ret_run, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *record = NULL;
	const char *config_text;
	struct run run = { 0 };
	int r;

	if ((r = json_parse("run.json", json_text, bytes, &record, err)) < 0 ||
	    (r = record_parse("run.json", record, &run, err)) < 0 ||
	    (r = json_get_string("run.json", record, "config", &config_text, err)) < 0 ||
	    (r = record_lock(&lock, err)) < 0 || (r = make_next(record, config_text, plan, start, err)) < 0 ||
	    (r = record_install(RECORD_NEXT, err)) < 0)
		return r;
	return run_load(ret_run, err);
}

/* ---- Repeating a run ---- */

/* Returns whether an id can be made of the name of a run. The name comes from outside, and the id is the name
 * of folders. */
static bool is_run_name(const char *name)
{
	return run_is_id(name) && strlen(name) + sizeof("-YYYYMMDD-HHMMSS") <= RUN_ID_BYTES;
}

/* Finds what the id of a run with this configuration has before the time. */
static int find_name(const char *config_text, char name[static RUN_ID_BYTES], struct error *err)
{
	char path[CONFIG_HELD_BYTES];
	CLEANUP(close_fd) int fd = config_hold(config_text, path, err);
	CLEANUP(config_done) struct config config = { 0 };
	int r = fd < 0 ? fd : config_load(path, &config, err);

	if (r == 0)
		(void)run_id_name(&config, name);
	return r;
}

/* Takes over what record_parse() and the caller have checked, and nothing else. `before`: what the id has
 * before the time. */
static bool fill_repeated(cJSON *record, const cJSON *old, const struct run *was, const char *before,
			  uint64_t seed, const char *last_id)
{
	static const char *const copied[] = { "name", "start_run", "plan_sha256", "config" };
	char id[RUN_ID_BYTES];
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(old, "name");
	bool whole = cJSON_IsString(name) && is_run_name(name->valuestring);

	if (whole) {
		int64_t started = make_id(before, last_id, id);

		whole = cJSON_AddNumberToObject(record, "version", RUN_VERSION) &&
			cJSON_AddStringToObject(record, "id", id) && json_add_u64(record, "seed", seed) &&
			json_add_u64(record, "started_s", (uint64_t)started) &&
			cJSON_AddStringToObject(record, "kiln_version", KILN_VERSION) &&
			cJSON_AddStringToObject(record, "repeats", was->id) &&
			cJSON_AddStringToObject(record, "before", last_id);
	}
	if (whole && *was->weights_sha256)
		whole = cJSON_AddStringToObject(record, "weights_sha256", was->weights_sha256);
	for (size_t i = 0; whole && i < sizeof(copied) / sizeof(copied[0]); i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(old, copied[i]);

		whole = item && cJSON_AddItemToObject(record, copied[i], cJSON_Duplicate(item, true));
	}
	return whole;
}

int run_repeat(const char *json_text, uint64_t bytes, const char *plan, const char *start,
	       struct run *ret_run, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *old = NULL;
	CLEANUP(json_free) cJSON *record = cJSON_CreateObject();
	CLEANUP(run_done) struct run last = { 0 };
	char before[RUN_ID_BYTES];
	const char *config_text;
	struct run was = { 0 };
	uint64_t seed;
	int r, there;

	if ((r = json_parse("run.json", json_text, bytes, &old, err)) < 0 ||
	    (r = record_parse("run.json", old, &was, err)) < 0 ||
	    (r = json_get_string("run.json", old, "config", &config_text, err)) < 0 ||
	    (r = json_get_u64("run.json", old, "seed", &seed, err)) < 0 || (r = record_lock(&lock, err)) < 0)
		return r;
	there = run_load(&last, err);
	if (there < 0 && there != -ENOENT)
		return there;
	if (there == 0 && !run_state_is_final(last.state))
		return error_set(err, -EBUSY,
				 "%s is %s, so no other run can begin: wait until it ends, or kiln stop and "
				 "kiln abandon",
				 last.id, run_state_name(last.state));
	if ((r = find_name(config_text, before, err)) < 0)
		return r;
	if (!fill_repeated(record, old, &was, before, seed, last.id))
		return error_set(err, -EBADMSG,
				 "run.json: the name is missing, or the name is not that of a run");
	if ((r = record_copy_known(old, record, err)) < 0 ||
	    (r = make_next(record, config_text, plan, start, err)) < 0 ||
	    (there == 0 && (r = record_archive(last.id, err)) < 0) ||
	    (r = record_install(RECORD_NEXT, err)) < 0)
		return r;
	return run_load(ret_run, err);
}
