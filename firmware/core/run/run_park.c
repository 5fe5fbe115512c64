/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked runs. Each change is one rename of a whole record, so after a kill at any time the record is the
 * current one, or parked, or archived. The caller, which knows what it wanted, calls again.
 */
#include "core/base/paths.h"
#include "core/run/run_record.h"

#include <string.h>

/* Returns the path of a parked record, or of a file in it. */
static char *parked_path(const char *id, const char *name, char path[static PATH_BYTES])
{
	char tail[RUN_ID_BYTES + 64];

	(void)snprintf(tail, sizeof(tail), RECORD_PARKED "/%.95s%s%.32s", id, *name ? "/" : "", name);
	return path_of(PATH_RUNS, tail, path);
}

bool run_is_parked(const char *id)
{
	char path[PATH_BYTES];

	return run_is_id(id) && file_exists(parked_path(id, "state", path), NULL) > 0;
}

/* Tells which run is current. Returns 1 where it is `id`, 0 where it is another one, or none. */
static int is_current(const char *id, enum run_state *ret_state, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	int r = run_load(&run, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*ret_state = run.state;
	return strcmp(run.id, id) == 0;
}

int run_park(const char *id, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char from[PATH_BYTES], to[PATH_BYTES];
	enum run_state state = RUN_RUNNING;
	int current, r = record_lock(&lock, err);

	if (r < 0 || (current = is_current(id, &state, err)) < 0)
		return r < 0 ? r : current;
	if (!current)
		return run_is_parked(id) ? 0 : error_set(err, -ENOENT, "there is no run %s to park", id);
	if (run_state_is_final(state))
		return error_set(err, -EPERM, "%s is %s, so it cannot be parked", id, run_state_name(state));
	if ((r = path_make(path_of(PATH_RUNS, RECORD_PARKED, to), err)) < 0)
		return r;
	(void)unlink(path_of(PATH_RUN, RUN_REST_FILE, from));
	return file_rename_durable(path_of(PATH_RUN, NULL, from), parked_path(id, "", to), err);
}

/* Makes the folder of a parked record the current record. */
static int bring_back(const char *id, struct error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];

	(void)path_of(PATH_RUN, NULL, to);
	if (!run_is_archived() && file_exists(to, NULL) != 0)
		return error_set(err, -EBUSY, "%s: another run is there, so %s cannot go on", to, id);
	(void)unlink(to); /* the link to an archived record */
	return file_rename_durable(parked_path(id, "", from), to, err);
}

/* Writes rest_after_epoch into the current record. 0: the run trains to its end. */
static int set_rest(uint64_t rest_after_epoch, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	char path[PATH_BYTES];
	int r = record_read_json(NULL, &record, err);

	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(record, "rest_after_epoch");
	if (rest_after_epoch && !json_add_u64(record, "rest_after_epoch", rest_after_epoch))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return record_write_json(path_of(PATH_RUN, "run.json", path), record, err);
}

int run_unpark(const char *id, uint64_t rest_after_epoch, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	enum run_state state = RUN_RUNNING;
	int current, r = record_lock(&lock, err);

	if (r < 0 || (current = is_current(id, &state, err)) < 0)
		return r < 0 ? r : current;
	if (!current && !run_is_parked(id))
		return error_set(err, -ENOENT, "no run %s is parked", id);
	if (!current && (r = bring_back(id, err)) < 0)
		return r;
	return set_rest(rest_after_epoch, err);
}

/* ---- Pruning ---- */

static int note_pruned(const char *id, const char *reason, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	char path[PATH_BYTES];
	int r = json_read(parked_path(id, "run.json", path), RUN_JSON_MAX, &record, err);

	if (r < 0)
		return r;
	cJSON_DeleteItemFromObjectCaseSensitive(record, "reason");
	if (!cJSON_AddItemToObject(record, "reason", json_string(reason)))
		return error_set(err, -ENOMEM, "run.json: no memory");
	r = record_write_json(path, record, err);
	return r < 0 ? r : record_write_state(parked_path(id, "state", path), RUN_PRUNED, err);
}

/* A record that no program can read is set aside, so that it does not keep the others from going on. */
static int prune_parked(const char *id, const char *reason, struct error *err)
{
	char path[PATH_BYTES], aside[PATH_BYTES];
	int r = note_pruned(id, reason, err);

	if (r == -E2BIG || r == -EBADMSG || r == -ENOENT)
		return file_rename_durable(parked_path(id, "", path), record_aside_path(aside), err);
	return r < 0 ? r : record_archive_folder(parked_path(id, "", path), id, err);
}

int run_prune(const char *id, const char *reason, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	enum run_state state = RUN_RUNNING;
	int r;

	if (run_is_parked(id))
		return (r = record_lock(&lock, err)) < 0 ? r : prune_parked(id, reason, err);
	r = is_current(id, &state, err);
	if (r == 0)
		return run_is_id(id) && file_exists(path_of(PATH_ARCHIVE, id, path), NULL) > 0
			       ? 0
			       : error_set(err, -ENOENT, "there is no run %s to prune", id);
	if (r > 0 && run_state_is_final(state) && state != RUN_PRUNED)
		return error_set(err, -EPERM, "%s is %s, so it cannot be pruned", id, run_state_name(state));
	if (r < 0 || (state != RUN_PRUNED && (r = run_end(RUN_PRUNED, reason, err)) < 0))
		return r;
	return run_archive(err);
}
